-- Which agents there are is said by the configuration: the kind of a session is whatever has the form of a name.
ALTER TABLE sessions DROP CONSTRAINT sessions_kind;

ALTER TABLE sessions ADD CONSTRAINT sessions_kind CHECK (kind ~ '^[a-z][a-z0-9_-]{0,31}$');

-- Whether anything was said in the conversation of a session. Its agent has kept it then; when it is gone, it is not begun
-- anew under the same id. Of the conversations that are there it is not known, and the careful answer is yes.
ALTER TABLE sessions ADD COLUMN conversation_used boolean NOT NULL DEFAULT false;

UPDATE sessions SET conversation_used = true WHERE conversation_id <> '';
