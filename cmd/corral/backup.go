package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"corral/sessions"
	"corral/sessions/backup"
	"corral/sessions/sessionclient"
)

// copyTimeout bounds a backup or a restore as a whole, as the server does.
const copyTimeout = 10 * time.Minute

// Names of the tables of a backup that people hear of.
const (
	backupSessions = "sessions"
	backupEvents   = "terminal_events"
)

func (p *program) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "write a copy of the metadata of all sessions to a file", Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), copyTimeout)
			defer cancel()
			return withServer(ctx, func(ctx context.Context, _ *corral, client *sessionclient.Client) error {
				s, err := saveBackup(ctx, client, args[0])
				if err != nil {
					return err
				}
				return p.say(
					map[string]any{"file": args[0], "madeAt": s.MadeAt, "sessions": s.Rows[backupSessions], "events": s.Rows[backupEvents]},
					"%s holds %s and %s", printable(args[0], false), count(s.Rows[backupSessions], "session"), count(s.Rows[backupEvents], "event"))
			})
		},
	}
}

func (p *program) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restore FILE", Short: "put the metadata of a backup in the place of those that are there", Args: arguments(1, 1),
		Long: "Puts the metadata of a backup in the place of those that are there, of which a copy is kept in the data directory.\n" +
			"No terminal is touched: what runs goes on, and is in the list afterwards also when the backup does not know it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), copyTimeout)
			defer cancel()
			f, err := openBackup(args[0])
			if err != nil {
				return err
			}
			defer f.Close() //nolint:errcheck // only read
			return withServer(ctx, func(ctx context.Context, c *corral, client *sessionclient.Client) error {
				return p.restore(ctx, c, client, f)
			})
		},
	}
}

func (p *program) restore(ctx context.Context, c *corral, client *sessionclient.Client, f *os.File) error {
	before, err := c.keepBefore(ctx, client)
	if err != nil {
		return err
	}
	restored, err := client.Restore(ctx, f)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(struct {
			sessions.Restored
			Before string `json:"before,omitempty"` // the copy of what was there
		}{restored, before})
	}
	_, err = fmt.Fprintf(p.stdout, "restored %s and %s, as they were on %s\n", count(restored.Sessions, "session"),
		count(restored.Events, "event"), restored.MadeAt.Local().Format(time.DateTime))
	if err == nil && before != "" {
		_, err = fmt.Fprintf(p.stdout, "what was there before is in %s\n", printable(before, false))
	}
	return err
}

// keepBefore saves what a restore is about to replace, and returns where; "" when there is nothing.
func (c *corral) keepBefore(ctx context.Context, client *sessionclient.Client) (string, error) {
	list, err := client.List(ctx)
	if err != nil || len(list) == 0 {
		return "", err
	}
	path := filepath.Join(c.paths.Data, "before-restore-"+time.Now().UTC().Format("20060102T150405.000")+".backup")
	if err := c.paths.Prepare(); err != nil {
		return "", err
	}
	_, err = saveBackup(ctx, client, path)
	return path, err
}

// openBackup opens a file and makes sure that it is a whole backup.
func openBackup(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError("read", path, err)
	}
	if _, err = backup.Check(f); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close() // only read
		if sessions.CodeOf(err) == sessions.CodeInvalid {
			return nil, fmt.Errorf("check %s: %w", path, err)
		}
		return nil, fileError("read", path, err)
	}
	return f, nil
}

// saveBackup writes a backup to path: beside it first, so that a whole one is never replaced by a half one.
func saveBackup(ctx context.Context, client *sessionclient.Client, path string) (s backup.Summary, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // 0600
	if err != nil {
		return s, fileError("write", path, err)
	}
	defer func() {
		_ = f.Close() // closed with its error below where that matters
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if err := client.Backup(ctx, f); err != nil {
		if errno := syscall.Errno(0); errors.As(err, &errno) && errno == syscall.ENOSPC {
			return s, fileError("write", path, errno)
		}
		return s, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return s, fileError("read", path, err)
	}
	if s, err = backup.Check(f); err != nil {
		return s, &sessions.Error{
			Code: sessions.CodeUnreachable, Message: "the server went away while it made the backup", Hint: "try again", Cause: err,
		}
	}
	if err := errors.Join(f.Sync(), f.Close(), os.Rename(f.Name(), path)); err != nil {
		return s, fileError("write", path, err)
	}
	return s, nil
}

// fileError explains in a sentence why a file that the user named cannot be used.
func fileError(doing, path string, err error) error {
	why := err
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		why = e.Err
	}
	return &sessions.Error{
		Code: sessions.CodeInvalid, Message: fmt.Sprintf("cannot %s %s: %v", doing, printable(path, false), why),
		Hint: "give a file that you may " + doing, Cause: err,
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
