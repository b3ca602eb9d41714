package policies

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/arguments"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/use"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
	"github.com/spf13/cobra"
)

// An explanation holds the flags of policy explain.
type explanation struct {
	policy      string
	args        string
	labels      []string
	sources     []string
	annotations []string
	principal   string
	issuer      string
	scopes      []string
	profile     string
	trusted     bool
	expect      string // expected effect; empty: none expected
	trustSaid   bool   // whether --trusted is on the command line
	offline     bool
	as          string   // kind and name of the caller
	groups      []string // of the caller
}

func policyExplainCommand(a *cli.App) *cobra.Command {
	var x explanation
	cmd := &cobra.Command{
		Use:   "explain [SERVER] TOOL [KEY=VALUE… | --args JSON]",
		Short: "Show the decision about a call, and the rule that decides",
		Long: `Show the decision about a call, the rule that decides, and why other rules do not.
Nothing is called. A configured SERVER is asked for the tool's annotations and input
schema, unless you give --offline; any other SERVER is only a name. Write arguments as
for junction call. Without SERVER, TOOL is the name that clients of junction up see, such
as SERVER__TOOL. With --as, the roles of the settings decide first, as in junction up.

` + policyHelp + "\n\n" + policyExitHelp,
		ValidArgsFunction: reach.SuggestTools(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 {
				return cli.Usagef("%s: expected SERVER and TOOL, or the TOOL that clients see", cmd.CommandPath())
			}
			if x.expect != "" && policy.Strictest(policy.Effect(x.expect)) == "" {
				return cli.Usagef("--expect: expected allow, ask or deny, got %q", x.expect)
			}
			x.trustSaid = cmd.Flags().Changed("trusted")
			return explain(cmd.Context(), a, &x, args)
		},
	}
	f := cmd.Flags()
	PolicyFlag(f, &x.policy)
	f.StringVar(&x.args, "args", "", "all arguments as one `JSON` object, @FILE, or - for standard input")
	f.StringArrayVar(&x.labels, "label", nil, "assume that the call's data has the `LABEL` untrusted, private or another (repeatable)")
	f.StringArrayVar(&x.sources, "source", nil, "assume that output of `SERVER` has reached the call (repeatable)")
	f.StringSliceVar(&x.annotations, "annotations", nil, "assume the annotation `HINT=BOOL`: readOnly, destructive, idempotent, openWorld")
	f.StringVar(&x.principal, "principal", "", "assume the caller `NAME`, the principal.subject of rules: the name of a key, a user or a certificate (default: an unknown user)")
	f.StringVar(&x.issuer, "issuer", "", "with --principal: assume that `ISSUER` issued the name, the principal.issuer of rules")
	f.StringSliceVar(&x.scopes, "scope", nil, "assume that the caller has this `SCOPE`, one of principal.scopes (repeatable)")
	f.StringVar(&x.as, "as", "", "assume this `CALLER` of junction up: user:NAME, key:NAME, or client:NAME of a certificate; the roles of the settings decide first")
	f.StringSliceVar(&x.groups, "group", nil, "with --as or --principal: assume that the caller is in this `GROUP`, one of principal.groups (repeatable)")
	f.StringVar(&x.profile, "profile", "", "assume that the call came to this `PROFILE` of junction up, with its rules")
	f.BoolVar(&x.trusted, "trusted", false, "assume that you trust the server's annotations (default: the choice in your policy.json; servers that ship with junction are trusted)")
	f.StringVar(&x.expect, "expect", "", "end with exit code 1 unless the decision is this `EFFECT`: allow, ask or deny; for tests of rules")
	f.BoolVar(&x.offline, "offline", false, "do not ask the server: the tool is only a name")
	reach.ConnectionFlags(a, f)
	a.JSONFlag(cmd, ExplanationShown{})
	return cmd
}

// explain prints the decision about a call, and the rules that led to it.
func explain(ctx context.Context, a *cli.App, x *explanation, args []string) error {
	set, entries, err := reach.ConfiguredServers(a)
	if err != nil {
		return err
	}
	source, err := readPolicySource(a, set, x.policy, x.profile)
	if err != nil {
		return err
	}
	server, tool, words, err := x.subject(source.settings, launch.ConfiguredNames(set, entries), args)
	if err != nil {
		return err
	}
	by, err := x.byRole(a, source.settings, server, tool)
	if err != nil {
		return err
	}
	if by != nil && by.Profile != "" {
		x.profile = by.Profile
	}
	book, err := source.book(x.profile)
	if x.as != "" && len(source.files(x.profile)) == 0 { // as junction up then has no rules
		book, err = withoutRules()
	}
	if err != nil {
		return err
	}
	in := policy.Input{Server: server, Tool: tool, Labels: x.labels, Sources: x.sources, Trusted: x.trusted, Client: "junction", Profile: x.profile,
		Principal: policy.Principal{Subject: x.principal, Issuer: x.issuer, Scopes: x.scopes, Groups: x.groups}}
	identify(x, book, entries, &in)
	_, missing := reach.Find(server, set, entries)
	known := launch.At(server) != nil || missing == nil || reach.HasProblem(set, server) // also true for an invalid server
	inputSchema, err := lookUp(ctx, a, x, &in, known)
	if err != nil {
		return err
	}
	if in.Arguments, err = use.JSONArguments(a, x.args, words); err != nil {
		return err
	}
	if in.Arguments == nil {
		// A call that is only explained may lack required arguments.
		if inputSchema != nil {
			inputSchema = jsonrpc.Without(inputSchema, "required")
		}
		if in.Arguments, err = arguments.Build(inputSchema, words, a.ReadFile); err != nil {
			return cli.Usagef("tool %q: %w", tool, err)
		}
	}
	if err := annotate(&in.Annotations, x.annotations); err != nil {
		return err
	}
	if x.as == "" || len(book.Files) > 0 {
		source.report(x.profile)
	}
	decision := book.Explain(ctx, in)
	hidden := book.Hides(in.Server, in.Tool, in.Annotations)
	if by != nil && by.Role == "" {
		decision.Effect, decision.Reason, decision.Default, decision.Trace = policy.Deny, "no role lets the caller make the call", false, nil
		decision.Rule, hidden = &policy.Rule{Name: "roles", Effect: policy.Deny}, true
	}
	if a.Flags.JSON {
		shown := NewExplanation(book, in, decision, hidden)
		shown.Role = by
		err = a.PrintJSON(shown)
	} else {
		err = showExplanation(a, in, decision, hidden, by)
	}
	if err == nil && x.expect != "" && decision.Effect != policy.Effect(x.expect) {
		return cli.ErrToolFailed
	}
	return err
}

// subject returns the server and the tool that the arguments name, and the arguments of the call.
func (x *explanation) subject(s *settings.Settings, servers, args []string) (server, tool string, words []string, err error) {
	if len(args) > 1 && (!strings.Contains(args[1], "=") || slices.Contains(servers, args[0])) {
		return args[0], args[1], args[2:], nil
	}
	if server, tool = ownName(s, servers, args[0]); server == "" {
		return "", "", nil, cli.Usagef("expected SERVER and TOOL, or a TOOL that clients see; no configured server has %q", plaintext.Line(args[0], 80))
	}
	return server, tool, args[1:], nil
}

// withoutRules returns the rules of a junction up that has none.
func withoutRules() (*rules.Book, error) {
	p, err := policy.Compile(nil, policy.Options{Default: policy.Allow})
	return &rules.Book{Policy: p}, err
}

// lookUp asks the server for the tool, and sets the title and annotations of in. It returns the
// input schema of the tool. With --offline, or for an unknown server, it does nothing.
func lookUp(ctx context.Context, a *cli.App, x *explanation, in *policy.Input, known bool) (json.RawMessage, error) {
	if err := reach.CheckFlags(a); err != nil || x.offline {
		return nil, err
	}
	if !known {
		a.Screen.Printf("junction: no server is called %q, so only your flags describe its tools.\n", plaintext.Line(in.Server, 80))
		return nil, nil
	}
	t, err := reach.ServerTarget(ctx, a, in.Server)
	if err != nil {
		return nil, offlineHint(err)
	}
	client, err := reach.Connect(ctx, a, t)
	if err != nil {
		return nil, offlineHint(err)
	}
	defer client.Close()
	var names []string
	for listed, err := range client.Tools(ctx) {
		if err != nil {
			return nil, err
		}
		if listed.Name == in.Tool {
			describe(in, listed)
			return listed.InputSchema, applyUserHint(a.Place, in, listed)
		}
		names = append(names, listed.Name)
	}
	hint := cli.Suggestion(nearest.Name(in.Tool, names))
	if own, exposed := strings.CutPrefix(in.Tool, in.Server+gateway.Separator); exposed && slices.Contains(names, own) {
		hint = "; rules use the server's own name" + cli.Suggestion(own)
	}
	return nil, cli.Usagef("server %q lists no tool %q%s (--offline explains without the server)", plaintext.Line(in.Server, 80), plaintext.Line(in.Tool, 80), hint)
}

// offlineHint adds a hint about --offline to the error for an unreachable server.
func offlineHint(err error) error {
	return &cli.ConnectError{Cause: fmt.Errorf("%w (--offline explains without the server)", err)}
}

// identify sets the origin of the server, and whether it is trusted. Servers that ship with
// junction are trusted. An unknown server is identified by its name only.
func identify(x *explanation, book *rules.Book, entries []launch.Entry, in *policy.Input) {
	trusted := policy.Named(book.Trusted, in.Server, "")
	i := slices.IndexFunc(entries, func(e launch.Entry) bool { return e.Name == in.Server })
	switch {
	case i >= 0:
		e := entries[i]
		in.Origin = policy.OriginOf(e.Command())
		trusted = e.Definition == nil || policy.Vouches(book.Trusted, e.Name, e.Command(), !e.OfProject())
	case launch.At(in.Server) != nil:
		in.Origin = policy.OriginOf([]string{in.Server})
	}
	if !x.trustSaid {
		in.Trusted = trusted
	}
}

// describe copies the title and annotations of a tool into in.
func describe(in *policy.Input, t *mcp.Tool) {
	own := t.Annotations
	if own == nil {
		own = new(mcp.ToolAnnotations)
	}
	in.Title = cmp.Or(t.Title, own.Title)
	in.Annotations = policy.Annotations{ReadOnly: own.ReadOnlyHint, Destructive: own.DestructiveHint, Idempotent: own.IdempotentHint, OpenWorld: own.OpenWorldHint}
}

// applyUserHint sets the read-only annotation from the user's answer in junction chat, if the
// server itself gives none.
func applyUserHint(p place.Place, in *policy.Input, t *mcp.Tool) error {
	if in.Annotations.ReadOnly != nil {
		return nil
	}
	approved, err := cli.Pins(p)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("tool %q of server %q: %w", t.Name, in.Server, err)
	}
	for _, d := range review.Definitions(in.Server, []json.RawMessage{raw}, nil) {
		if approved.Reads(d, in.Origin) {
			in.Annotations.ReadOnly = new(true)
		}
	}
	return nil
}

// annotate parses the values of --annotations.
func annotate(into *policy.Annotations, pairs []string) error {
	for _, pair := range pairs {
		name, text, _ := strings.Cut(pair, "=")
		value, err := strconv.ParseBool(text)
		if err != nil {
			return cli.Usagef("--annotations: expected HINT=true or HINT=false, got %q", pair)
		}
		hint := map[string]**bool{"readOnly": &into.ReadOnly, "destructive": &into.Destructive, "idempotent": &into.Idempotent, "openWorld": &into.OpenWorld}[name]
		if hint == nil {
			return cli.Usagef("--annotations: unknown hint %q; there are readOnly, destructive, idempotent and openWorld", name)
		}
		*hint = &value
	}
	return nil
}

// showExplanation prints a decision as text.
func showExplanation(a *cli.App, in policy.Input, d policy.Decision, hidden bool, by *roleShown) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s of %s\n", strings.ToUpper(string(d.Effect)), plaintext.Line(in.Tool, 80), plaintext.Line(in.Server, 80))
	if by != nil {
		b.WriteString(by.lines())
		if by.Role == "" {
			_, err := fmt.Fprint(a.Out, b.String())
			return err
		}
	}
	fmt.Fprintf(&b, "  decided by %s\n", plaintext.Line(d.Rule.String(), cli.MaxLog))
	if d.Reason != "the rule "+d.Rule.String() {
		fmt.Fprintf(&b, "  because: %s\n", plaintext.Line(d.Reason, cli.MaxLog))
	}
	for _, r := range rolesAsked(&d) {
		fmt.Fprintf(&b, "  waits for the approval of the role %s, at most %s\n", r.Role, r.Within)
	}
	if hidden {
		b.WriteString("  It is denied for all arguments, so no model sees it.\n")
	}
	if len(d.Trace) > 0 {
		b.WriteString("\nRules, the strictest first:\n")
		var rows [][]string
		for _, s := range d.Trace {
			about := s.Rule.String()
			if s.Err != nil {
				about += ": " + s.Why()
			}
			rows = append(rows, []string{string(s.Outcome), string(s.Rule.Effect), plaintext.Line(about, cli.MaxLog)})
		}
		b.WriteString(a.Table(rows, 2))
	}
	_, err := fmt.Fprint(a.Out, b.String())
	return err
}

// An approvalShown is an approval that a call needs.
type approvalShown struct {
	Role   string `json:"role"`
	Within string `json:"within"`
}

// rolesAsked returns the approvals that a call needs, each role once.
func rolesAsked(d *policy.Decision) (all []approvalShown) {
	rules, _ := d.Approvals()
	for _, rule := range rules {
		one, _ := rule.Approval()
		if !slices.ContainsFunc(all, func(a approvalShown) bool { return a.Role == one.Role }) {
			all = append(all, approvalShown{one.Role, one.Within.String()})
		}
	}
	return all
}

// An ExplanationShown is the output of policy explain --json.
type ExplanationShown struct {
	Effect  policy.Effect `json:"effect"`
	Rule    *policy.Rule  `json:"rule"`
	Reason  string        `json:"reason"`
	Default bool          `json:"default"`
	Hidden  bool          `json:"hidden"`
	Input   policy.Input  `json:"input"`
	Files   []string      `json:"files"`
	Rules   []stepShown   `json:"rules"`
	// Approvals lists the roles that must approve the call.
	Approvals []approvalShown `json:"approvals,omitempty"`
	// Role is the decision of roles, with --as and if there are roles.
	Role *roleShown `json:"role,omitempty"`
}

// A stepShown is the outcome of one rule in an ExplanationShown.
type stepShown struct {
	Rule    *policy.Rule   `json:"rule"`
	Outcome policy.Outcome `json:"outcome"`
	Why     string         `json:"why"`
}

// NewExplanation returns the JSON output for a decision.
func NewExplanation(book *rules.Book, in policy.Input, d policy.Decision, hidden bool) ExplanationShown {
	steps := []stepShown{}
	for _, s := range d.Trace {
		steps = append(steps, stepShown{s.Rule, s.Outcome, s.Why()})
	}
	return ExplanationShown{d.Effect, d.Rule, d.Reason, d.Default, hidden, in, book.Paths(), steps, rolesAsked(&d), nil}
}
