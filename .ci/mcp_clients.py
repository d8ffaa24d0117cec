"""The official Python SDK of MCP with resources, prompts and writing: python mcp_clients.py HOST:PORT WEFT VAULT"""

import asyncio
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters


async def heard(progress, total, message):
    """Accepts progress."""


async def resources_and_prompts(server):
    """Lists and reads notes, and gets a prompt."""
    async with Client(server) as client:
        page = await client.list_resources()
        addresses = {str(resource.uri): resource for resource in page.resources}
        leap = "noteweft://note/Agreed%20Time/Leap%20second"
        assert leap in addresses, list(addresses)
        note = await client.read_resource(leap)
        assert "Leap second" in note.contents[0].text, note
        templates = (await client.list_resource_templates()).resource_templates
        assert "noteweft://note/{+uri}" in [it.uri_template for it in templates], templates
        # An answer to a request for progress is a stream of events; no call here takes the second until the first event.
        question = {"query": "leap second", "limit": 3}
        found = await client.call_tool("search", question, progress_callback=heard)
        assert "Leap second" in found.content[0].text, found
        context = await client.read_resource("noteweft://context/leap%20second")
        assert "Leap second" in context.contents[0].text, context
        prompts = (await client.list_prompts()).prompts
        prompt = await client.get_prompt("answer_from_notes", {"question": "why leap seconds?"})
        assert "why leap seconds?" in prompt.messages[0].content.text, prompt
        return f"{len(addresses)} resources, {len(templates)} templates, {len(prompts)} prompts"


async def writing(server, vault):
    """Writes a note with the flag."""
    async with Client(server) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        hints = tools["write_note"].annotations
        assert hints.destructive_hint and not hints.read_only_hint, hints
        answer = await client.call_tool("write_note", {"path": "by-mcp.md", "text": "# Written\n"})
        assert not answer.is_error, answer
        assert Path(vault, "by-mcp.md").read_text() == "# Written\n"
        again = await client.call_tool("write_note", {"path": "by-mcp.md", "text": "x"})
        assert again.is_error, again
        note = await client.call_tool("get_note", {"note": "by-mcp"})
        replaced = {"path": "by-mcp.md", "text": "# Again\n", "hash": note.structured_content["hash"]}
        answer = await client.call_tool("write_note", replaced)
        assert not answer.is_error, answer
        assert Path(vault, "by-mcp.md").read_text() == "# Again\n"
        Path(vault, "by-mcp.md").unlink()
        return "a note was written, kept, and replaced"


def main(address, weft, vault):
    asking = StdioServerParameters(command=weft, args=["mcp", "--addr", address])
    may_write = StdioServerParameters(command=weft, args=["mcp", "--write", "--addr", address])
    for name, check in [
        ("mcp resources over http", resources_and_prompts(f"http://{address}/mcp")),
        ("mcp resources over stdio", resources_and_prompts(asking)),
        ("mcp writing", writing(may_write, vault)),
    ]:
        print(f"{name}: {asyncio.run(check)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
