package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/listfile"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/sandbox"
)

const (
	maxFitting   = 1000 // profiles in the stored list
	maxFailTexts = 256  // texts of a failed request that are searched for paths

	fittingTime = 2 * time.Second // longest wait for the lock of the stored list
)

// A fitting records a profile that fits its program: the program did some work, and the sandbox
// refused nothing.
type fitting struct {
	Key    string    `json:"key"`
	Server string    `json:"server"`
	Since  time.Time `json:"since"`
}

// A trial finds out whether a profile fits its program. Watching reads slows a program, so reads
// are watched only until the profile fits. If the profile no longer fits at a later start, they are
// watched again.
type trial struct {
	fits      *listfile.File[fitting]
	key       string
	server    string
	wasFit    bool
	answered  atomic.Bool // the program answered any request
	works     atomic.Bool
	isRefused atomic.Bool
}

// newTrial returns a trial, or nil if reads need no watching. It also returns nil if the result of
// a trial cannot be stored; then all reads are watched.
func (l *Launcher) newTrial(c *command.Command, server string, p sandbox.Profile, o sandbox.Options) *trial {
	if runtime.GOOS != "linux" || p.By != "" || o.Record != nil {
		return nil
	}
	path, err := l.Place.State("fitting.json")
	if err != nil {
		return nil
	}
	fits, err := listfile.Open(path, "the list of profiles that fit", func(f fitting) string { return f.Key })
	if err != nil {
		return nil
	}
	t := &trial{fits: fits, server: server}
	var env []string
	for _, pair := range c.Env {
		name, value, _ := strings.Cut(pair, "=")
		if filepath.IsAbs(value) { // not even a hash of a secret is stored
			name = pair
		}
		env = append(env, name)
	}
	slices.Sort(env) // the order of the variables is random
	all, err := json.Marshal([]any{p, c.Name, c.Args, env, c.Dir, o.Package, versionOf(l.Place, c)})
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(all)
	t.key = hex.EncodeToString(sum[:])
	_, t.wasFit, err = fits.Find(t.key)
	if err != nil {
		return nil
	}
	return t
}

// versionOf returns a stamp of the program's file. It changes when another program replaces the
// file, such as at an upgrade.
func versionOf(p place.Place, c *command.Command) string {
	path := c.Name
	if !strings.ContainsRune(path, filepath.Separator) {
		path, _ = p.LookPath(path)
	} else if !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	return filename.Stamp(path)
}

// observe returns a function that records the outcome of each request in the trial. For a failed
// request, it passes the texts of the request and its result to the sandbox, which looks for paths
// in them.
func (t *trial) observe(box *sandbox.Sandbox) func(context.Context, *mcp.Request, mcp.Result, error) {
	return func(ctx context.Context, req *mcp.Request, result mcp.Result, err error) {
		switch mcp.OutcomeOf(ctx, &result, err) {
		case mcp.OutcomeOK:
			t.answered.Store(true)
			if req.Name != "" { // a tool, prompt or resource
				t.works.Store(true)
			}
		case mcp.OutcomeToolError, mcp.OutcomeError:
			texts := AppendTexts(AppendTexts(nil, req.Params), result.JSON)
			if err != nil {
				texts = append(texts, err.Error())
			}
			box.Failed(texts...)
		}
	}
}

// AppendTexts appends the strings in a JSON value to texts, up to maxFailTexts.
func AppendTexts(texts []string, value []byte) []string {
	if len(texts) < maxFailTexts {
		jsonrpc.EachText("", value, func(_, text string) bool {
			texts = append(texts, text)
			return len(texts) < maxFailTexts
		})
	}
	return texts
}

// end stores the result of the trial when its program has ended.
func (t *trial) end() {
	isFit := t.works.Load() && !t.isRefused.Load()
	if !isFit && !t.isRefused.Load() && (!t.wasFit || t.answered.Load()) {
		return // the program neither worked nor was refused anything
	}
	isThis := func(f fitting) bool { return f.Key == t.key }
	if all, err := t.fits.All(); err == nil && slices.ContainsFunc(all, isThis) == isFit {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), fittingTime)
	defer cancel()
	_ = t.fits.Change(ctx, func(all []fitting) ([]fitting, error) { // after an error, the next start makes a new trial
		all = slices.DeleteFunc(all, isThis)
		if isFit {
			all = append(all, fitting{t.key, t.server, time.Now().UTC().Truncate(time.Second)})
		}
		return all[max(0, len(all)-maxFitting):], nil
	})
}
