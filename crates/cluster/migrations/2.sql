-- Row security: a role sees and changes the rows of its collections. Superusers and the owner of the tables see all rows.

-- Collections that a role may use. The rights are given by `weft cluster init --role`.
create table noteweft.access (
    role name not null,
    collection int not null references noteweft.collection on delete cascade,
    primary key (role, collection)
);
alter table noteweft.access enable row level security;
-- Members of a role may use its collections, too. A name that no role has any more grants nothing.
create policy of_role on noteweft.access for select
    using (exists (select from pg_roles where rolname = access.role and pg_has_role(oid, 'usage')));

-- The policies below read `access` with the rights of the role that asks, so they see its rows only.
alter table noteweft.collection enable row level security;
create policy of_role on noteweft.collection
    using (id in (select collection from noteweft.access));

alter table noteweft.vault enable row level security;
create policy of_role on noteweft.vault
    using (collection in (select collection from noteweft.access));

alter table noteweft.commit enable row level security;
create policy of_role on noteweft.commit
    using (collection in (select collection from noteweft.access));

alter table noteweft.blob enable row level security;
create policy of_role on noteweft.blob
    using (collection in (select collection from noteweft.access));

alter table noteweft.version enable row level security;
create policy of_role on noteweft.version
    using (collection in (select collection from noteweft.access));

alter table noteweft.vector enable row level security;
create policy of_role on noteweft.vector
    using (collection in (select collection from noteweft.access));

alter table noteweft.job enable row level security;
create policy of_role on noteweft.job
    using (collection in (select collection from noteweft.access));

alter table noteweft.lease enable row level security;
create policy of_role on noteweft.lease
    using (collection in (select collection from noteweft.access));

alter table noteweft.node enable row level security;
create policy of_role on noteweft.node
    using (collection in (select collection from noteweft.access));
