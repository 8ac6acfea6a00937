-- Events whose state stays: the session's agent went on to another conversation. The foreign key to the moves that
-- exist goes by a column that is null for them, and a key with a null in it is not checked.
ALTER TABLE terminal_events DROP CONSTRAINT terminal_events_transition;

ALTER TABLE terminal_events ADD COLUMN kind text NOT NULL DEFAULT 'transition';

ALTER TABLE terminal_events ADD COLUMN moved_from text
    GENERATED ALWAYS AS (CASE WHEN kind = 'transition' THEN from_state END) STORED;

ALTER TABLE terminal_events ADD CONSTRAINT terminal_events_transition FOREIGN KEY (moved_from, to_state)
    REFERENCES state_transitions (from_state, to_state);

ALTER TABLE terminal_events ADD CONSTRAINT terminal_events_kind CHECK (kind = 'transition' OR kind = 'conversation' AND
    from_state = to_state AND to_state IN ('STARTING', 'RUNNING', 'DETACHED', 'WAITING_FOR_INPUT', 'STOPPING', 'STOPPED',
    'FAILED', 'RECOVERABLE'));
