-- Qualified names are written as each language writes them (pkg.(*Foo).Bar, ns::Foo::bar, src/foo.Foo.bar); by dots alone they
-- are compared with what is asked for.
ALTER TABLE symbols ADD COLUMN dotted_name TEXT NOT NULL
  GENERATED ALWAYS AS (replace(replace(replace(replace(qualified_name, '::', '.'), '(*', ''), ')', ''), '/', '.')) VIRTUAL;
