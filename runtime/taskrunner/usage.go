package taskrunner

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"corral/runtime/internal/taskdir"
	"corral/runtime/rtapi"
)

// usage is what all processes of the task used that have ended, which at the end are all.
func (r *runner) usage() rtapi.Usage {
	var ru syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ru) // it fails for no argument that we give
	return rtapi.Usage{
		WallSeconds:   time.Since(r.run.StartedAt).Seconds(),
		UserSeconds:   time.Duration(ru.Utime.Nano()).Seconds(),
		SystemSeconds: time.Duration(ru.Stime.Nano()).Seconds(),
		MemoryBytes:   ru.Maxrss << 10,  // in KiB
		ReadBytes:     ru.Inblock * 512, // in blocks of 512 bytes
		WrittenBytes:  ru.Oublock * 512,
		Agent:         agentUsage(r.cfg.Dir, r.meta),
	}
}

// maxResult is how much of the log's end is searched for an agent's result.
const maxResult = 1 << 20

// agentUsage reads what `claude -p --output-format json` printed last; nil when the task is something else.
func agentUsage(dir string, m taskdir.Meta) *rtapi.AgentUsage {
	if len(m.Command) == 0 || filepath.Base(m.Command[0]) != "claude" || !slices.Contains(m.Command, "json") {
		return nil
	}
	f, err := os.Open(filepath.Join(dir, taskdir.LogFile))
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // nothing was written
	if info, err := f.Stat(); err == nil && info.Size() > maxResult {
		_, _ = f.Seek(-maxResult, io.SeekEnd) // a regular file
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return nil
	}
	return parseAgentUsage(b)
}

func parseAgentUsage(log []byte) *rtapi.AgentUsage {
	lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	var result struct {
		Type      string  `json:"type"`
		Cost      float64 `json:"total_cost_usd"`
		Turns     int     `json:"num_turns"`
		SessionID string  `json:"session_id"`
		Usage     struct {
			Input       int64 `json:"input_tokens"`
			CacheRead   int64 `json:"cache_read_input_tokens"`
			CacheCreate int64 `json:"cache_creation_input_tokens"`
			Output      int64 `json:"output_tokens"`
		} `json:"usage"`
	}
	if json.Unmarshal(lines[len(lines)-1], &result) != nil || result.Type != "result" {
		return nil
	}
	u := result.Usage
	return &rtapi.AgentUsage{
		InputTokens: u.Input + u.CacheRead + u.CacheCreate, OutputTokens: u.Output,
		CostUSD: result.Cost, Turns: result.Turns, ConversationID: result.SessionID,
	}
}
