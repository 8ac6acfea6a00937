package service

import (
	"context"
	"fmt"
	"io"

	"corral/sessions"
)

// Backup writes all metadata to w as they are at one moment.
func (s *Service) Backup(ctx context.Context, w io.Writer) error {
	st, err := s.Store()
	if err != nil {
		return err
	}
	return st.Backup(ctx, w, s.Node, s.now())
}

// Restore replaces all metadata by those of a backup. No terminal is touched: sessions that live and are not in the
// backup, or have ended in it, are adopted by the reconciler, and those that it has alive get the title and project back
// that their terminal carries, which is newer than any backup.
func (s *Service) Restore(ctx context.Context, r io.Reader) (sessions.Restored, error) {
	st, err := s.Store()
	if err != nil {
		return sessions.Restored{}, err
	}
	restored, err := st.Restore(ctx, r, s.Node)
	if err != nil {
		return restored, err
	}
	s.Log.Info("metadata restored", "sessions", restored.Sessions, "events", restored.Events, "made", restored.MadeAt)
	defer s.Kick()
	for _, m := range s.Board.liveMeta() {
		rec, err := st.Get(ctx, sessions.ID(m.ID))
		title, project := sessions.CleanTitle(m.Title), sessions.CleanLine(m.Project, sessions.MaxProject)
		if err != nil || title == "" || rec.Title == title && rec.Project == project {
			continue // no row: it is adopted with what the terminal carries
		}
		if _, err := st.Update(ctx, rec.ID, &title, &project, s.now()); err != nil {
			return restored, fmt.Errorf("give session %s its title back: %w", rec.ID, err)
		}
	}
	return restored, nil
}
