package tasks

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/junction-mcp/junction/internal/granted"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	form "github.com/junction-mcp/junction/mcp/internal/task"
	"github.com/junction-mcp/junction/state"
)

const (
	owners      = "tasks/owner/" // prefix of the index of the tasks of each authenticated user and each shared session
	maxTaskPage = 50             // tasks on one page of a list
)

// ownerKey returns the prefix of the index keys for the tasks of one client of a user, or else of one
// session, in one part of a gateway.
func ownerKey(who *mcp.Principal, session, part string) string {
	texts := []string{session, part}
	if who != nil {
		texts = []string{who.Issuer, who.Subject, who.ClientID, part}
	}
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(h, "%d:%s", len(text), text) // lengths make the text unambiguous
	}
	return owners + base64.RawURLEncoding.EncodeToString(h.Sum(nil)) + "/"
}

// ownKey returns the index key of a task for its owner. The newest task comes first in the order of
// keys.
func (r *record) ownKey() string {
	return ownerKey(r.Owner, r.Session, r.Part) + fmt.Sprintf("%016x-%s", math.MaxInt64-r.Created.UnixNano(), r.ID)
}

// own handles tasks/list, which the edge sends for clients of 2025-11-25. It lists the
// tasks of an authenticated user, or of a session that several replicas serve. Other sessions list
// their tasks themselves.
func (t *Tasks) own(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	session := form.SessionOf(ctx)
	if req.Principal == nil && session == "" {
		return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "tasks/list: the caller is not known")
	}
	prefix := ownerKey(req.Principal, session, granted.Part(ctx))
	after := ""
	if cursor := jsonrpc.Get(req.Params, "cursor"); cursor != nil {
		text, _ := jsonrpc.Unquote(cursor)
		at, id, _ := strings.Cut(text, "-")
		if _, err := hex.DecodeString(at); err != nil || len(at) != 16 || id == "" || len(prefix)+len(text) > state.MaxKey {
			return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "cursor: expected one that tasks/list returned, got %.40s", cursor)
		}
		after = prefix + text
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	s, err := t.open(ctx)
	if err != nil {
		return mcp.Result{}, err
	}
	entries, err := s.List(ctx, prefix, after, maxTaskPage+1)
	if err != nil {
		return mcp.Result{}, fmt.Errorf("the tasks: %w", err)
	}
	var more string
	if len(entries) > maxTaskPage {
		entries = entries[:maxTaskPage]
		more = strings.TrimPrefix(entries[maxTaskPage-1].Key, prefix)
	}
	tasks := jsonrpc.NewArray(nil)
	for _, e := range entries {
		_, id, _ := strings.Cut(strings.TrimPrefix(e.Key, prefix), "-")
		task, err := t.find(ctx, id, req.Principal)
		if errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) || errors.As(err, new(*mcp.ScopeError)) { // the task ended long ago, or needs more scopes
			continue
		}
		if task == nil { // if the task is returned, the error only means that it cannot be continued now
			return mcp.Result{}, err
		}
		listed := task.plain()
		if string(jsonrpc.Get(task.Result, "isError")) == "true" { // the list contains nothing else of the result
			listed.Result = json.RawMessage(`{"isError":true}`)
		}
		encoded, err := schema.Encode(nil, listed)
		if err != nil {
			return mcp.Result{}, err
		}
		tasks.Element(encoded)
	}
	w := jsonrpc.NewObject(nil)
	w.Raw("tasks", tasks.Bytes())
	if more != "" {
		w.String("nextCursor", more)
	}
	return mcp.Result{JSON: w.Bytes()}, nil
}
