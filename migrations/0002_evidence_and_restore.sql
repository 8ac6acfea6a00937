-- Why a session is in its state, since when and from which evidence, beside the state itself: whoever shows a session
-- needs no look into its events, and a rename does not make the state look younger.
ALTER TABLE sessions
    ADD COLUMN state_since    timestamptz,
    ADD COLUMN state_evidence text NOT NULL DEFAULT '';

UPDATE sessions s
SET state_since = e.at, state_evidence = e.evidence
FROM terminal_events e
WHERE e.id = (SELECT max(newest.id) FROM terminal_events newest WHERE newest.session_id = s.id);

UPDATE sessions SET state_since = updated_at WHERE state_since IS NULL;

ALTER TABLE sessions ALTER COLUMN state_since SET NOT NULL;

-- An event that comes with a number keeps it: a restore brings the history back as it was.
CREATE OR REPLACE FUNCTION terminal_events_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.id IS NULL THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('corral.terminal_events', 0));
        NEW.id := nextval('terminal_events_id_seq');
    END IF;
    RETURN NEW;
END
$$;

-- Puts rows of a backup into a table. A backup of an older schema lacks columns: these get their defaults, so a column
-- that is added needs one, or a value in the statement that restores.
CREATE FUNCTION restore_rows(target regclass, elements jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    names text;
BEGIN
    SELECT string_agg(quote_ident(key), ', ') INTO names FROM jsonb_object_keys(elements -> 0) AS key
    WHERE NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = target AND attname = key AND attgenerated <> '');
    IF names IS NULL THEN
        RAISE not_null_violation USING MESSAGE = 'a row has no columns';
    END IF;
    EXECUTE format('INSERT INTO %s (%s) SELECT %s FROM jsonb_populate_recordset(NULL::%s, $1)', target, names, names, target)
        USING elements;
END
$$;
