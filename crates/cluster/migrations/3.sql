-- Vector graphs of collections.

-- One row per commit that changes the graph of a model; from its number on, all nodes use it.
create table noteweft.graph (
    collection int not null references noteweft.collection on delete cascade,
    model bytea not null,
    generation bigint not null,
    -- Number of the state whose vectors it was built from.
    built_from bigint not null,
    -- Format of the bytes; nodes use only their own.
    format int not null,
    n_rows bigint not null,
    n_bytes bigint not null,
    -- Checksum of the bytes; null if no graph is used from this number on.
    hash bytea,
    -- Epoch of the lease of the node that built it, which names its chunks. Chunks of earlier epochs are removed.
    epoch bigint not null,
    primary key (collection, model, generation)
);

-- The bytes of graphs, before and after their commit.
create table noteweft.graph_chunk (
    collection int not null references noteweft.collection on delete cascade,
    model bytea not null,
    epoch bigint not null,
    n int not null,
    bytes bytea not null,
    primary key (collection, model, epoch, n)
);

alter table noteweft.graph enable row level security;
create policy of_role on noteweft.graph
    using (collection in (select collection from noteweft.access));

alter table noteweft.graph_chunk enable row level security;
create policy of_role on noteweft.graph_chunk
    using (collection in (select collection from noteweft.access));
