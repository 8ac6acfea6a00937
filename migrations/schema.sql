-- Made by: go test ./migrations -run Schema -update

CREATE FUNCTION public.restore_rows(target regclass, elements jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $_$
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
$_$;

CREATE FUNCTION public.sessions_notify() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_notify('corral_sessions', COALESCE(NEW.id, OLD.id)::text);
    RETURN NULL;
END
$$;

CREATE FUNCTION public.terminal_events_number() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.id IS NULL THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('corral.terminal_events', 0));
        NEW.id := nextval('terminal_events_id_seq');
    END IF;
    RETURN NEW;
END
$$;

CREATE TABLE public.nodes (
    name text NOT NULL,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE public.schema_migrations (
    number integer NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone NOT NULL
);

CREATE TABLE public.sessions (
    id uuid NOT NULL,
    title text NOT NULL,
    project text NOT NULL,
    cwd text NOT NULL,
    kind text NOT NULL,
    args text[] NOT NULL,
    conversation_id text NOT NULL,
    state text NOT NULL,
    state_reason text NOT NULL,
    exit_code integer,
    signal integer,
    node text NOT NULL,
    run integer NOT NULL,
    owner text NOT NULL,
    deadline timestamp with time zone,
    tmux_pid integer NOT NULL,
    tmux_start bigint NOT NULL,
    tmux_boot_id text NOT NULL,
    ended_at timestamp with time zone,
    cols integer NOT NULL,
    rows integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    last_activity_at timestamp with time zone NOT NULL,
    version bigint NOT NULL,
    state_since timestamp with time zone NOT NULL,
    state_evidence text DEFAULT ''::text NOT NULL,
    conversation_used boolean DEFAULT false NOT NULL,
    CONSTRAINT sessions_cwd CHECK (((cwd ~~ '/%'::text) AND (octet_length(cwd) <= 4095))),
    CONSTRAINT sessions_deadline CHECK (((deadline IS NULL) OR (state = ANY (ARRAY['STARTING'::text, 'STOPPING'::text])))),
    CONSTRAINT sessions_ended CHECK (((ended_at IS NOT NULL) = (state = ANY (ARRAY['STOPPED'::text, 'FAILED'::text, 'RECOVERABLE'::text])))),
    CONSTRAINT sessions_exit_code CHECK (((exit_code >= 0) AND (exit_code <= 255))),
    CONSTRAINT sessions_kind CHECK ((kind ~ '^[a-z][a-z0-9_-]{0,31}$'::text)),
    CONSTRAINT sessions_owner CHECK (((owner = ''::text) OR (state = 'STARTING'::text))),
    CONSTRAINT sessions_project CHECK ((octet_length(project) <= 100)),
    CONSTRAINT sessions_run CHECK ((run >= 1)),
    CONSTRAINT sessions_signal CHECK (((signal >= 1) AND (signal <= 64))),
    CONSTRAINT sessions_size CHECK ((((cols >= 0) AND (cols <= 65535)) AND ((rows >= 0) AND (rows <= 65535)))),
    CONSTRAINT sessions_state CHECK ((state = ANY (ARRAY['STARTING'::text, 'RUNNING'::text, 'DETACHED'::text, 'WAITING_FOR_INPUT'::text, 'STOPPING'::text, 'STOPPED'::text, 'FAILED'::text, 'RECOVERABLE'::text]))),
    CONSTRAINT sessions_title CHECK ((octet_length(title) <= 200)),
    CONSTRAINT sessions_version CHECK ((version >= 1))
);

CREATE TABLE public.state_transitions (
    from_state text NOT NULL,
    to_state text NOT NULL
);

CREATE TABLE public.terminal_events (
    id bigint NOT NULL,
    session_id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    from_state text NOT NULL,
    to_state text NOT NULL,
    reason text NOT NULL,
    evidence text NOT NULL,
    exit_code integer,
    signal integer,
    kind text DEFAULT 'transition'::text NOT NULL,
    moved_from text GENERATED ALWAYS AS (
CASE
    WHEN (kind = 'transition'::text) THEN from_state
    ELSE NULL::text
END) STORED,
    CONSTRAINT terminal_events_kind CHECK (((kind = 'transition'::text) OR ((kind = 'conversation'::text) AND (from_state = to_state) AND (to_state = ANY (ARRAY['STARTING'::text, 'RUNNING'::text, 'DETACHED'::text, 'WAITING_FOR_INPUT'::text, 'STOPPING'::text, 'STOPPED'::text, 'FAILED'::text, 'RECOVERABLE'::text])))))
);

CREATE SEQUENCE public.terminal_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.terminal_events_id_seq OWNED BY public.terminal_events.id;

ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.state_transitions
    ADD CONSTRAINT state_transitions_pkey PRIMARY KEY (from_state, to_state);

ALTER TABLE ONLY public.terminal_events
    ADD CONSTRAINT terminal_events_pkey PRIMARY KEY (id);

CREATE INDEX terminal_events_at ON public.terminal_events USING btree (at);

CREATE INDEX terminal_events_session ON public.terminal_events USING btree (session_id, id);

CREATE TRIGGER sessions_notify_changes AFTER UPDATE ON public.sessions FOR EACH ROW WHEN ((old.version IS DISTINCT FROM new.version)) EXECUTE FUNCTION public.sessions_notify();

CREATE TRIGGER sessions_notify_rows AFTER INSERT OR DELETE ON public.sessions FOR EACH ROW EXECUTE FUNCTION public.sessions_notify();

CREATE TRIGGER terminal_events_number BEFORE INSERT ON public.terminal_events FOR EACH ROW EXECUTE FUNCTION public.terminal_events_number();

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_node_fkey FOREIGN KEY (node) REFERENCES public.nodes(name);

ALTER TABLE ONLY public.terminal_events
    ADD CONSTRAINT terminal_events_transition FOREIGN KEY (moved_from, to_state) REFERENCES public.state_transitions(from_state, to_state);
