-- Collections, their logs, shared vectors, leases and nodes.

-- A set of vaults with one order of changes. `head` is raised under the row's lock, so commits become visible in the order of their numbers.
create table noteweft.collection (
    id int generated always as identity primary key,
    name text not null unique,
    -- Tells a collection from an erased one of the same name.
    uid uuid not null default gen_random_uuid(),
    -- Settings that answers depend on, set by the first node.
    settings text,
    head bigint not null default 0
);

create table noteweft.vault (
    collection int not null references noteweft.collection on delete cascade,
    name text not null,
    since bigint not null,
    primary key (collection, name)
);

-- One row per number of the log.
create table noteweft.commit (
    collection int not null references noteweft.collection on delete cascade,
    generation bigint not null,
    -- Given by the client, so that it finds a commit whose outcome it did not learn.
    batch bytea,
    committed timestamptz not null default now(),
    primary key (collection, generation),
    unique (collection, batch)
);

-- Texts by their hash.
create table noteweft.blob (
    collection int not null references noteweft.collection on delete cascade,
    hash bytea not null,
    body bytea not null,
    primary key (collection, hash)
);

-- Every state of every file; a null hash is a removal.
create table noteweft.version (
    collection int not null references noteweft.collection on delete cascade,
    vault text not null,
    path text not null,
    generation bigint not null,
    hash bytea,
    size bigint not null,
    modified_ns bigint not null,
    primary key (collection, vault, path, generation)
);
create index version_by_generation on noteweft.version (collection, generation);

-- Vectors of texts; an empty one means that the model rejects the text.
create table noteweft.vector (
    collection int not null references noteweft.collection on delete cascade,
    model bytea not null,
    text bytea not null,
    generation bigint not null,
    vector bytea not null,
    crc int not null,
    primary key (collection, model, text)
);
create index vector_by_generation on noteweft.vector (collection, model, generation);

-- Texts without a vector. A job is free if it has no holder or its time ran out.
create table noteweft.job (
    collection int not null references noteweft.collection on delete cascade,
    model bytea not null,
    text bytea not null,
    body text not null,
    holder text,
    until timestamptz not null default '-infinity',
    primary key (collection, model, text)
);

-- Tasks that one process may do at a time. A commit names the epoch, so a holder that lost its lease cannot commit.
create table noteweft.lease (
    collection int not null references noteweft.collection on delete cascade,
    role text not null,
    epoch bigint not null,
    holder text not null,
    until timestamptz not null,
    primary key (collection, role)
);

create table noteweft.node (
    collection int not null references noteweft.collection on delete cascade,
    id text not null,
    address text not null,
    version text not null,
    generation bigint not null,
    -- Digest of the notes at that generation.
    digest bytea not null,
    heartbeat timestamptz not null default now(),
    primary key (collection, id)
);
