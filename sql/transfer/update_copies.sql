-- Move the copies of files to another folder, as far as the database names it.
-- param old_dir TEXT  the folder where they were, with a slash at its end
-- param new_dir TEXT  the folder where they are, likewise
UPDATE assets
SET storage_path = :new_dir || substr(storage_path, length(:old_dir) + 1)
WHERE substr(storage_path, 1, length(:old_dir)) = :old_dir;
