"""Generates the messages and calls when the package is built, so that they never differ from the contract."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ContractHook(BuildHookInterface[Any]):
    """Generates code from the contract before a wheel is built or the package is installed in place."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Generates the code; `version` is `standard` or `editable`."""
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        sys.path.insert(0, self.root)
        from generate import generate

        # A source distribution carries the contract and the license; a clone has them at its root.
        base = root if (root / "proto").is_dir() else root.parents[1]
        generate(base / "proto", root / "src" / "noteweft")
        if version == "standard" and base != root:
            build_data["force_include"][str(base / "LICENSE")] = "noteweft/LICENSE"
