-- Folders that receive what other writers change in their vaults.

-- Id of the folder that the commit came from; null for all other writers.
alter table noteweft.commit add column folder text;

-- Folders that were pushed from or pulled into.
create table noteweft.folder (
    collection int not null references noteweft.collection on delete cascade,
    vault text not null,
    -- Made from the machine and the path of the folder.
    id text not null,
    -- Number up to which the folder has the commits of others.
    seen bigint not null,
    primary key (collection, vault, id)
);

alter table noteweft.folder enable row level security;
create policy of_role on noteweft.folder
    using (collection in (select collection from noteweft.access));
