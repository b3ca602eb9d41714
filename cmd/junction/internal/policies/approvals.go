package policies

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/gateway/approvals"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/spf13/cobra"
)

// maxWaitingShown is the largest response of a junction up about approvals in bytes: 1,000 calls with
// 16 KiB of arguments, as JSON.
const maxWaitingShown = 64 << 20

const approvalsHelp = `A rule with "effect": "ask" and "of": "role:NAME" lets a call wait until a caller with that
role approves it. Callers approve and refuse calls at /team of the gateway; you, as the
user who runs junction up, can do so here for every role.`

// ApprovalsCommand returns the command approvals.
func ApprovalsCommand(a *cli.App) *cobra.Command {
	list := &cobra.Command{Use: "list", Short: "List the calls that wait for approval", Args: cli.NoArguments,
		Long: "List the calls that wait for approval in every running junction up.\n\n" + approvalsHelp,
		RunE: func(cmd *cobra.Command, _ []string) error { return listApprovals(cmd.Context(), a) }}
	a.JSONFlag(list, waitingShown{})
	var length time.Duration
	approve := &cobra.Command{Use: "approve ID", Short: "Approve a call, so that it runs",
		Long: "Approve a call, so that it runs. ID is the id of list, or its beginning.\n\n" + approvalsHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]string{}
			if length > 0 {
				body["for"] = length.String()
			}
			return decideOn(cmd.Context(), a, args, "approve", body)
		}}
	approve.Flags().DurationVar(&length, "for", 0, "approve equal calls of the same caller for this `TIME`, too, such as 10m; the rule must allow it")
	var reason string
	refuse := &cobra.Command{Use: "refuse ID", Short: "Refuse a call, with a reason",
		Long: "Refuse a call. ID is the id of list, or its beginning. The caller sees the reason.\n\n" + approvalsHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			return decideOn(cmd.Context(), a, args, "refuse", map[string]string{"reason": reason})
		}}
	refuse.Flags().StringVar(&reason, "reason", "", "the `REASON`, which the caller sees")
	return cli.Group("approvals", "Approve or refuse the calls that rules ask a role about", "List the calls that wait for approval, approve them, or refuse them.\n\n"+approvalsHelp, list, approve, refuse)
}

// A waitingCall is a call that waits in a junction up.
type waitingCall struct {
	PID      int    `json:"pid"`
	Endpoint string `json:"endpoint"`
	approvals.Call
}

// A waitingShown is the output of approvals list --json.
type waitingShown struct {
	Approvals []waitingCall `json:"approvals"`
}

// askApprovals sends a request about approvals to a junction up, and decodes its response into v.
func askApprovals(ctx context.Context, a *cli.App, pid int, method, path string, body, v any) error {
	folder, err := cli.StatusFolder(a.Place)
	if err != nil {
		return err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://junction/api/approvals"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	resp, err := cli.SendToProcess(filepath.Join(folder, fmt.Sprint(pid, cli.ControlSuffix)), req, cli.StatusTimeout)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	from := json.NewDecoder(io.LimitReader(resp.Body, maxWaitingShown))
	if resp.StatusCode == http.StatusOK {
		return from.Decode(v)
	}
	var fault struct {
		Error string `json:"error"`
	}
	if err := from.Decode(&fault); err != nil || fault.Error == "" {
		return fmt.Errorf("process %d responds with HTTP status %d; it may be an older junction", pid, resp.StatusCode)
	}
	return fmt.Errorf("process %d: %s", pid, plaintext.Line(fault.Error, cli.MaxReason))
}

// waitingCalls returns the calls that wait in all running junction up.
func waitingCalls(ctx context.Context, a *cli.App) (shown waitingShown, err error) {
	shown.Approvals = []waitingCall{}
	ups, err := cli.Instances(ctx, a.Place)
	if err != nil {
		return shown, err
	}
	for _, up := range ups {
		var found cli.ApprovalsShown
		if err := askApprovals(ctx, a, up.PID, http.MethodGet, "", nil, &found); err != nil {
			return shown, err
		}
		for _, q := range found.Approvals {
			if slices.ContainsFunc(shown.Approvals, func(w waitingCall) bool { return w.ID == q.ID }) {
				continue // replicas with the same store all list it
			}
			shown.Approvals = append(shown.Approvals, waitingCall{up.PID, up.Endpoint, q})
		}
	}
	return shown, nil
}

func listApprovals(ctx context.Context, a *cli.App) error {
	all, err := waitingCalls(ctx, a)
	switch {
	case err != nil:
		return err
	case a.Flags.JSON:
		return a.PrintJSON(all)
	case len(all.Approvals) == 0:
		a.Out.Printf("No call waits for approval.\n")
	}
	for _, w := range all.Approvals {
		a.Out.Printf("%s  %s of %s, by %s, until %s\n", w.ID, w.Name, w.Server, cmp.Or(w.Caller, "an unknown caller"), w.Until.Local().Format(time.TimeOnly))
		for _, p := range w.Parts {
			state := "waits for"
			if p.By != "" {
				state = "approved by " + p.By + " for"
			}
			a.Out.Printf("  %s role %s: %s\n", state, p.Role, cmp.Or(p.Reason, p.Rule))
		}
		if w.Arguments != "" {
			a.Out.Printf("  %s\n", w.Arguments)
		}
	}
	return nil
}

// decideOn approves or refuses the call on the command line.
func decideOn(ctx context.Context, a *cli.App, args []string, verb string, body map[string]string) error {
	if len(args) != 1 {
		return cli.Usagef("expected one ID, got %d words; junction policy approvals list shows the ids", len(args))
	}
	all, err := waitingCalls(ctx, a)
	if err != nil {
		return err
	}
	var found []waitingCall
	for _, w := range all.Approvals {
		if strings.HasPrefix(w.ID, args[0]) && args[0] != "" {
			found = append(found, w)
		}
	}
	switch len(found) {
	case 0:
		return fmt.Errorf("no call with the id %q waits: it was decided, its time is over, or its caller left", plaintext.Line(args[0], 80))
	case 1:
	default:
		return cli.Usagef("%d calls have ids that begin with %q; type more of it", len(found), args[0])
	}
	var q approvals.Call
	if err := askApprovals(ctx, a, found[0].PID, http.MethodPost, "/"+url.PathEscape(found[0].ID)+"/"+verb, body, &q); err != nil {
		return err
	}
	a.Out.Printf("%s: %s of %s.\n", map[string]string{"approve": "Approved", "refuse": "Refused"}[verb], q.Name, q.Server)
	return nil
}
