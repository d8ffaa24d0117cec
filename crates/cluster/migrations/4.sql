-- Removal of old versions, and nodes that do not serve.

-- States before `floor` cannot be read any more. The versions that only they need are removed for changes up to `swept`.
alter table noteweft.collection
    add column floor bigint not null default 0,
    add column swept bigint not null default 0,
    add column versions_removed bigint not null default 0,
    add column vectors_removed bigint not null default 0;

-- Finds the versions that need a text.
create index version_by_hash on noteweft.version (collection, hash);

-- Reason why the node does not serve; null while it does.
alter table noteweft.node add column problem text;
