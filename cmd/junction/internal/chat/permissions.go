package chat

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/person"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/policy"
)

// Permissions returns everything that allows or forbids calls: rules, trust, approved definitions,
// answers about the project, and remembered answers of the conversation.
func (t *Setup) Permissions(_ context.Context, s tui.Session) ([]tui.Permission, error) {
	path, err := rules.UserFile(t.App.Place, t.Flags.Policy)
	if err != nil {
		return nil, err
	}
	file, err := policy.Load(path, policy.LoadOptions{}) // read again, because the lines of rules change
	if errors.Is(err, fs.ErrNotExist) {
		file, err = &policy.File{Path: path}, nil
	}
	if err != nil {
		return nil, err
	}
	return slices.Concat(t.rulePermissions(file), t.TrustPermissions(file, s), t.ApprovedPermissions(), ProjectPermissions(t.App), AnswerPermissions(s)), nil
}

// fixed returns an Undo that returns an error with the given text, for a permission that cannot be
// withdrawn here.
func fixed(format string, args ...any) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return "", fmt.Errorf(format, args...) }
}

// bareRule returns a rule without its Source, to compare it.
func bareRule(r policy.Rule) policy.Rule {
	r.Source = ""
	return r
}

// rulePermissions returns the rules in force, strictest first.
func (t *Setup) rulePermissions(file *policy.File) (all []tui.Permission) {
	rules := t.Host.Rules()
	for i, r := range rules {
		p := tui.Permission{What: t.RuleText(r), Where: r.Source}
		switch {
		case i == len(rules)-1: // the default of the policy
			p.Undo = fixed(`"default" in %s decides calls without a rule; change it there`, t.App.Short(file.Path))
		case r.Source == "built-in":
			p.Undo = fixed("this rule is built in, and cannot be removed; rules of your own that ask or deny are stricter")
		case r.Source == person.CommandLine:
			r.Name = "" // the name is the flag, which Where shows
			p.What = t.RuleText(r)
			p.Undo = fixed("this rule comes from the command line: start without it")
		case r.Source == "session":
			p.Where = "until junction chat ends"
			p.Undo = func(context.Context) (string, error) {
				return "no longer holds: " + p.What, t.Host.RemoveRule(r)
			}
		case ofFile(r, file.Path):
			p.Where = "until junction chat ends, not in " + t.App.Short(file.Path)
			if i := slices.IndexFunc(file.Rules, func(f policy.Rule) bool { return bareRule(f) == bareRule(r) }); i >= 0 {
				p.Where = t.App.Short(file.Rules[i].Source)
			}
			if r.Origin != "" {
				p.Where += ", from a card"
			}
			p.Undo = func(ctx context.Context) (string, error) {
				return "removed from " + t.App.Short(file.Path) + ": " + p.What, t.removeRule(ctx, file.Path, r)
			}
		default:
			p.Undo = fixed("this rule is one of the project's; it can be removed in %s", r.Source)
		}
		all = append(all, p)
	}
	return all
}

// origin matches results of [policy.OriginOf], which users need not see.
var origin = regexp.MustCompile(`^(?:[0-9a-f]{32}|built-in)$`)

// serverOfName returns the server that a name in a policy refers to. It also reports whether the
// name includes the server's origin, as in [policy.NameOf]. A name may itself contain an @, as
// names of npm packages do.
func (t *Setup) serverOfName(name string) (server string, bound bool) {
	at := strings.LastIndexByte(name, '@')
	if at <= 0 || !origin.MatchString(name[at+1:]) || slices.ContainsFunc(t.Options.Servers, func(s host.Server) bool { return s.Name == name }) {
		return name, false
	}
	return name[:at], true
}

// RuleText returns a rule as text. Servers in After are named without their origins.
func (t *Setup) RuleText(r policy.Rule) string {
	if r.After != "" {
		var after []string
		for name := range strings.SplitSeq(r.After, ",") {
			server, _ := t.serverOfName(strings.TrimSpace(name))
			after = append(after, server)
		}
		r.After = strings.Join(after, ", ")
	}
	return string(r.Effect) + " " + policies.DescribeRule(r)
}

// ofFile reports whether a rule is from the user's policy file, or has been added to the file since
// it was read.
func ofFile(r policy.Rule, path string) bool {
	return r.Source == "" || strings.HasPrefix(r.Source, path+":")
}

// removeRule removes a rule from the user's policy file and from the host.
func (t *Setup) removeRule(ctx context.Context, path string, rule policy.Rule) error {
	if err := policy.Remove(ctx, path, rule); err != nil && !errors.Is(err, policy.ErrNotThere) {
		return err
	}
	file, err := policy.Load(path, policy.LoadOptions{})
	if err == nil && slices.ContainsFunc(file.Rules, func(r policy.Rule) bool { return bareRule(r) == bareRule(rule) }) {
		return fmt.Errorf("%s had the rule several times and still has one copy; remove that copy, too", path)
	}
	var errs []error
	for _, r := range t.Host.Rules() {
		if ofFile(r, path) && bareRule(r) == bareRule(rule) {
			errs = append(errs, t.Host.RemoveRule(r))
		}
	}
	return errors.Join(errs...)
}

// inFile reports whether names in a file vouch for a server.
func (t *Setup) inFile(s *host.Server, names ...string) bool {
	return policy.Vouches(names, s.Name, s.Origin, t.ownNames[s.Name])
}

// byFlag reports whether --trust vouches for a server.
func (t *Setup) byFlag(s *host.Server) bool {
	return policy.Vouches(t.Flags.Trust, s.Name, s.Origin, true)
}

// trustText returns the text for a name in a list of trusted servers.
func (t *Setup) trustText(name string) string {
	server, bound := t.serverOfName(name)
	if bound {
		server += ", with the command that it had when you trusted it"
	}
	return server
}

// TrustPermissions returns the trusted servers, and the servers that are declared to have no
// private data.
func (t *Setup) TrustPermissions(file *policy.File, session tui.Session) (all []tui.Permission) {
	trusted := func(server string) bool {
		return slices.ContainsFunc(session.Talk().Servers(), func(s host.ServerTools) bool { return s.Server == server && s.Trusted })
	}
	for i, name := range file.Trusted {
		if slices.Contains(file.Trusted[:i], name) {
			continue // one undo removes all occurrences
		}
		all = append(all, tui.Permission{What: "trust " + t.trustText(name), Where: t.App.Short(file.Path), Undo: func(ctx context.Context) (string, error) {
			return t.removeTrust(ctx, file.Path, name, session)
		}})
	}
	for _, name := range file.Public {
		what, bound := t.serverOfName(name)
		if bound {
			what += ", with the command that it had then"
		}
		all = append(all, tui.Permission{What: "nothing private comes from " + what, Where: t.App.Short(file.Path), Undo: fixed(`this cannot be undone here: remove %q from "public" in %s`, name, file.Path)})
	}
	for i := range t.Options.Servers {
		s := &t.Options.Servers[i]
		p := tui.Permission{What: "trust " + s.Name, Where: "until junction chat ends"}
		switch {
		case !trusted(s.Name), !t.byFlag(s) && s.Origin != nil && t.inFile(s, file.Trusted...):
			continue
		case s.Origin == nil:
			p.Where, p.Undo = "ships with junction", fixed("%s ships with junction and is trusted; /mcp off %s switches it off", s.Name, s.Name)
		case t.byFlag(s):
			p.Where, p.Undo = "command line", fixed("--trust comes from the command line: start without it")
		default:
			p.Undo = func(context.Context) (string, error) {
				return s.Name + " is no longer trusted", session.Talk().Distrust(s.Name)
			}
		}
		all = append(all, p)
	}
	return all
}

// removeTrust removes a name from the trusted servers in the user's policy file, and stops trusting
// the servers with that name. done also names other reasons why they are still trusted.
func (t *Setup) removeTrust(ctx context.Context, path, name string, session tui.Session) (done string, err error) {
	if err := policy.RemoveTrusted(ctx, path, name); err != nil {
		return "", err
	}
	done = "removed from " + t.App.Short(path) + ": trust " + t.trustText(name)
	file, err := policy.Load(path, policy.LoadOptions{})
	if err != nil {
		return done, err
	}
	var errs []error
	for i := range t.Options.Servers {
		s := &t.Options.Servers[i]
		if !t.inFile(s, name) {
			continue
		}
		var still []string
		for _, other := range file.Trusted {
			if t.inFile(s, other) {
				still = append(still, fmt.Sprintf("%q in %s", "trust "+t.trustText(other), t.App.Short(path)))
			}
		}
		if t.byFlag(s) {
			still = append(still, "--trust on the command line")
		}
		if len(still) == 0 {
			errs = append(errs, session.Talk().Distrust(s.Name))
			continue
		}
		done += "; but " + s.Name + " is still trusted, by " + strings.Join(still, " and ")
	}
	return done, errors.Join(errs...)
}

// ApprovedPermissions returns the servers with approved definitions.
func (t *Setup) ApprovedPermissions() (all []tui.Permission) {
	for _, name := range t.Options.Pins.Servers() {
		what := fmt.Sprintf("approved: %d definitions of server %q", len(t.Options.Pins.Approved(name)), name)
		if reading := t.Options.Pins.Reading(name); len(reading) > 0 {
			what += "; you confirmed that these only read: " + strings.Join(reading, ", ")
		}
		all = append(all, tui.Permission{
			What: what, Where: "approvals",
			Undo: func(context.Context) (string, error) {
				return "you review the definitions of server " + name + " again before the model sees them", t.Host.Disapprove(name)
			},
		})
	}
	return all
}

// ProjectPermissions returns the answers about servers and instructions of projects.
func ProjectPermissions(a *cli.App) (all []tui.Permission) {
	said := a.Launch.StoredConsents()
	for _, e := range a.Launch.OfProject {
		agreed, known := said[a.Launch.ConsentKey(e)]
		if !known {
			continue
		}
		what := "start server"
		if !agreed {
			what = "do not start server"
		}
		all = append(all, tui.Permission{What: fmt.Sprintf("%s %q of the project", what, e.Name), Where: a.Short(e.Definition.Source), Undo: func(context.Context) (string, error) {
			return "you are asked about server " + e.Name + " when junction chat starts again", a.Launch.ChangeConsents(func(said map[string]bool) { delete(said, a.Launch.ConsentKey(e)) })
		}})
	}
	text, err := folderInstructions(a.Path("."))
	agreed, known := said[InstructionsKey(text)]
	if err != nil || !known {
		return all
	}
	what := "do not follow " + projectInstructions + " of this folder"
	if agreed {
		what = "follow " + projectInstructions + " of this folder"
	}
	return append(all, tui.Permission{What: what, Where: projectInstructions, Undo: func(context.Context) (string, error) {
		return "you are asked about " + projectInstructions + " when junction chat starts again", a.Launch.ChangeConsents(func(said map[string]bool) { delete(said, InstructionsKey(text)) })
	}})
}

// AnswerPermissions returns the remembered answers to cards. An answer may consist of several
// parts, which are withdrawn together.
func AnswerPermissions(session tui.Session) (all []tui.Permission) {
	for _, parts := range answers(session.Talk().Approvals()) {
		what := answered(parts)
		all = append(all, tui.Permission{What: what, Where: "this conversation", Undo: func(context.Context) (string, error) {
			var errs []error
			for _, a := range parts {
				errs = append(errs, session.Talk().Withdraw(a))
			}
			return "you are asked again: " + what, errors.Join(errs...)
		}})
	}
	return all
}

// answers groups approvals: by tool if the tool writes, and by server if it only reads. An approval
// to carry text is added to the group of its tool.
func answers(approvals []guard.Approval) (all [][]guard.Approval) {
	for _, a := range approvals {
		if a.Reason != guard.CarriesText {
			all = append(all, []guard.Approval{a})
		}
	}
	for _, a := range approvals {
		if a.Reason != guard.CarriesText {
			continue
		}
		of := func(tool string) func([]guard.Approval) bool {
			return func(parts []guard.Approval) bool {
				return parts[0].Server == a.Server && parts[0].Origin == a.Origin && parts[0].Tool == tool
			}
		}
		i := slices.IndexFunc(all, of(a.Tool))
		if i < 0 {
			i = slices.IndexFunc(all, of("")) // the group of all read-only tools
		}
		if i < 0 {
			i, all = len(all), append(all, nil)
		}
		all[i] = append(all[i], a)
	}
	return all
}

// answered describes the parts of an answer.
func answered(parts []guard.Approval) string {
	first := parts[0]
	var carried, by []string
	for _, a := range parts {
		if a.Reason == guard.CarriesText {
			carried = append(carried, sourceNames(a.Sources)...)
			by = append(by, a.Server+"/"+a.Tool)
		}
	}
	slices.Sort(carried)
	slices.Sort(by)
	carry := "to send text from " + strings.Join(slices.Compact(carried), ", ")
	if first.Tool == "" { // the approval may be for a tool that writes
		carry += " by " + strings.Join(slices.Compact(by), ", ")
	}
	carry += ", with the arguments that you saw"
	var what string
	switch of := strings.Join(sourceNames(first.Sources), ", "); first.Reason {
	case guard.CarriesText:
		return fmt.Sprintf("allow %s/%s %s", first.Server, first.Tool, carry)
	case guard.WayOut:
		what = fmt.Sprintf("allow queries to %s, although private text from %s was read", first.Server, of)
	default:
		what = fmt.Sprintf("allow %s/%s, although text from %s was read", first.Server, first.Tool, of)
	}
	if len(carried) > 0 {
		what += ", and " + carry
	}
	return what
}

// sourceNames returns the names of sources.
func sourceNames(sources []guard.Source) (names []string) {
	for _, s := range sources {
		names = append(names, s.String())
	}
	return names
}
