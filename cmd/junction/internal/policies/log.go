package policies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/apikey"
	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp/apps"
	"github.com/junction-mcp/junction/policy"
	"github.com/spf13/cobra"
)

// policyTestCommand returns the command policy test.
func policyTestCommand(a *cli.App) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "test [FOLDER…]",
		Short: "Apply the current rules to the calls in an audit log",
		Long: `Apply the current rules to the calls in the log of junction up --audit, and print the
decisions. Each call is judged at its time, by the rules of its profile, with the tools'
annotations of that time, and with the servers as they are configured now. The log has no
secrets, long texts, titles or groups of callers. If that matters for a call, the reason is printed instead.
` + "\n" + auditHelp + "\n\n" + policyHelp + "\n\n" + policyExitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			folders, err := auditArguments(a.Place, args)
			if err != nil {
				return err
			}
			return testOnLog(cmd.Context(), a, path, folders)
		},
	}
	PolicyFlag(cmd.Flags(), &path)
	reach.ConfigFlags(a, cmd.Flags())
	a.JSONFlag(cmd, verdictsShown{})
	return cmd
}

// An auditLine is a line of the audit log about a call.
type auditLine struct {
	audit.Record
	Annotations policy.Annotations `json:"annotations"` // replaces the raw Annotations of Record
}

// input returns the call as policy rules see it. Its field Unknown lists the members that the log
// line does not determine.
func (l *auditLine) input() policy.Input {
	client, _, _ := strings.Cut(l.Client, "/") // cuts off the version
	in := policy.Input{Method: l.Method, Server: l.Server, Client: client, Profile: l.Profile, Now: l.Time,
		Principal: policy.Principal{Subject: l.Principal, Issuer: l.Issuer, Scopes: l.Scopes}}
	if l.Principal != "" && l.Issuer != apikey.Issuer { // users of keys are in no group
		in.Unknown = append(in.Unknown, "principal.groups")
	}
	if l.Server == "" {
		in.Unknown = append(in.Unknown, "server")
	}
	if strings.Count(l.Client, "/") > 1 { // ambiguous: names such as @scope/name contain a slash, and so may versions
		in.Unknown = append(in.Unknown, "client")
	}
	switch l.Method {
	case "tools/call":
		in.Tool, in.Annotations = cmp.Or(l.Tool, l.Name), l.Annotations
		in.Unknown = append(in.Unknown, "title")
		if l.Server+l.Tool == "" { // the line has only the tool name that the client sent
			in.Unknown = append(in.Unknown, "tool")
		}
		if l.Hash == "" { // the gateway hid the tool from clients
			in.Unknown = append(in.Unknown, "annotations")
		}
	case "resources/read":
		in.Resource = l.Name
		if strings.Contains(l.Name, redact.Hidden) || strings.HasSuffix(l.Name, "…") || isTranslated(l.Name) {
			in.Unknown = append(in.Unknown, "resource")
		}
	}
	members, all := audit.Altered(l.Arguments)
	if all {
		in.Unknown = append(in.Unknown, "args")
		return in
	}
	in.Arguments = l.Arguments
	for _, name := range members {
		in.Unknown = append(in.Unknown, "args."+name)
	}
	return in
}

// isTranslated reports whether a gateway may have created the URI of a resource, because two
// servers had the same one. A server's own URI may have the same prefix, and rules see that URI.
func isTranslated(uri string) bool {
	return strings.HasPrefix(uri, "junction:") || strings.HasPrefix(uri, apps.Scheme+"junction/")
}

// Undecided is the effect of a verdict that depends on members missing from the log line.
const Undecided policy.Effect = "cannot tell"

// A verdict counts the calls of one tool that one rule decides in the same way.
type verdict struct {
	Effect policy.Effect `json:"effect"`
	Server string        `json:"server,omitempty"`
	Tool   string        `json:"tool"`
	Rule   string        `json:"rule"`
	Reason string        `json:"reason,omitempty"` // reason that the effect is unknown
	Roles  string        `json:"roles,omitempty"`  // roles that must approve the calls
	Calls  int           `json:"calls"`
}

// maxVerdicts limits the number of different verdicts.
const maxVerdicts = 10_000

// testOnLog prints how the current rules decide the calls in audit logs.
func testOnLog(ctx context.Context, a *cli.App, path string, folders []string) error {
	set, entries, err := reach.ConfiguredServers(a)
	if err != nil {
		return err
	}
	servers := serversOfLog(entries)
	source, err := readPolicySource(a, set, path, "")
	if err != nil {
		return err
	}
	if _, err := source.book(""); err != nil { // report errors in the rules even for a log without calls
		return err
	}
	source.report("")
	counts := map[verdict]int{}
	for line, err := range audit.ReadAll(folders, audit.Filter{Kind: audit.KindCall}) {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w; junction up --audit writes a log", err)
		}
		if err != nil {
			return err
		}
		var l auditLine
		if schema.DecodeLoose(line, &l) != nil || l.Round > 0 || ctx.Err() != nil {
			continue // count only the first round of each call
		}
		in := l.input()
		book, err := source.book(l.Profile)
		if err != nil {
			return err
		}
		if e, known := servers[l.Server]; known {
			command := e.Command()
			in.Origin, in.Trusted = policy.OriginOf(command), policy.Vouches(book.Trusted, e.Name, command, !e.OfProject())
		} else {
			in.Unknown = append(in.Unknown, "origin", "trusted")
		}
		v := l.judge(book.Decide(ctx, in), cmp.Or(in.Tool, l.Name))
		if counts[v] > 0 || len(counts) < maxVerdicts {
			counts[v]++
		}
	}
	return showVerdicts(a, counts)
}

// serversOfLog returns the configured and the shipped servers by name.
func serversOfLog(entries []launch.Entry) map[string]launch.Entry {
	servers := map[string]launch.Entry{}
	for _, name := range cli.ShippedNames() {
		servers[name] = launch.Entry{Name: name}
	}
	for _, e := range entries {
		servers[e.Name] = e
	}
	return servers
}

// judge returns the verdict on the call of the line, given the decision of the rules.
func (l *auditLine) judge(d policy.Decision, tool string) verdict {
	v := verdict{Effect: d.Effect, Server: l.Server, Tool: tool, Rule: d.Rule.String()}
	for _, a := range rolesAsked(&d) {
		v.Roles = strings.TrimPrefix(v.Roles+", "+a.Role, ", ")
	}
	switch {
	case l.Method != "tools/call" && d.Default: // the default applies only to tools, in a gateway too
		v.Effect = policy.Allow
	case len(d.Unknown) > 0:
		v.Effect, v.Reason = Undecided, "the rule reads "+strings.Join(d.Unknown, ", ")+", which the log does not keep in full"
	}
	return v
}

// A verdictsShown is the output of policy test --json.
type verdictsShown struct {
	Verdicts []verdict `json:"verdicts"`
}

// showVerdicts prints the verdicts, strictest first.
func showVerdicts(a *cli.App, counts map[verdict]int) error {
	all := []verdict{}
	total := map[policy.Effect]int{}
	for v, n := range counts {
		v.Calls = n
		all = append(all, v)
		total[v.Effect] += n
	}
	order := []policy.Effect{policy.Deny, policy.Ask, policy.Allow, Undecided}
	slices.SortFunc(all, func(a, b verdict) int {
		return cmp.Or(slices.Index(order, a.Effect)-slices.Index(order, b.Effect), b.Calls-a.Calls, strings.Compare(a.Server, b.Server), strings.Compare(a.Tool, b.Tool), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Reason, b.Reason))
	})
	if a.Flags.JSON {
		return a.PrintJSON(verdictsShown{all})
	}
	var rows [][]string
	for _, v := range all {
		rule := plaintext.Line(v.Rule, 120)
		if v.Roles != "" {
			rule += " (asks the role " + plaintext.Line(v.Roles, 120) + ")"
		}
		if v.Reason != "" {
			rule += ": " + plaintext.Line(v.Reason, 200)
		}
		rows = append(rows, []string{string(v.Effect), plaintext.Count(v.Calls, "call"), plaintext.Line(strings.TrimPrefix(v.Server+"/"+v.Tool, "/"), 80), rule})
	}
	untold := ""
	if n := total[Undecided]; n > 0 {
		untold = fmt.Sprintf("; the log has too little about %s", plaintext.Count(n, "call"))
	}
	_, err := fmt.Fprintf(a.Out, "%s%d allowed, %d asked about, %d denied%s\n", a.Table(rows, 2), total[policy.Allow], total[policy.Ask], total[policy.Deny], untold)
	return err
}
