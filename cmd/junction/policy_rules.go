package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/policy"
	"github.com/spf13/cobra"
)

func (a *app) policyListCommand() *cobra.Command {
	var path, profile string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the rules, the strictest first",
		Args:  noMore,
		Long:  "List the rules that hold here, the strictest first, with what is built in.\n\n" + policyHelp + "\n\n" + policyExitHelp,
		RunE: func(*cobra.Command, []string) error {
			set, _, err := a.servers()
			if err != nil {
				return err
			}
			source, err := a.policySource(set, path, profile)
			if err != nil {
				return err
			}
			book, err := source.book(profile)
			if err != nil {
				return err
			}
			source.report(profile)
			return a.listRules(book)
		},
	}
	policyFlag(cmd.Flags(), &path)
	profileFlag(cmd.Flags(), &profile)
	a.configFlags(cmd.Flags())
	cmd.Flags().BoolVar(&a.flags.json, "json", false, "print the rules as one object")
	return cmd
}

func (a *app) listRules(book *rulebook) error {
	if a.flags.json {
		return a.printObject(struct {
			Files []string      `json:"files"`
			Rules []policy.Rule `json:"rules"`
		}{book.paths(), book.Rules()})
	}
	rows := [][]string{}
	for _, r := range book.Rules() {
		rows = append(rows, []string{string(r.Effect), plaintext.Line(r.Source, 200), plaintext.Line(aboutRule(r), maxLog)})
	}
	_, err := fmt.Fprint(a.out, terminal.Table(rows, 0, lineWidth(a.out)))
	return err
}

// aboutRule is what a rule is about, with its name and its reason.
func aboutRule(r policy.Rule) string {
	about := ""
	if r.Name != "" {
		about = r.Name + ": "
	}
	r.Name, r.Source = "", ""
	about += strings.TrimPrefix(r.String(), string(r.Effect)+" ")
	if r.Reason != "" {
		about += " (" + r.Reason + ")"
	}
	return about
}

func (a *app) policyCheckCommand() *cobra.Command {
	var tighten bool
	var profile string
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Say what is wrong with a file of rules",
		Long:  "Read a file of rules (default: the one that the settings name for junction up, or else your own\npolicy.json), compile its conditions, and say everything that is wrong,\nwith its place. A server that is named and not configured may be a slip, and so may a tool that the server did not list\nwhen it was last connected to.\n\n" + policyHelp + "\n\n" + policyExitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s: expected one FILE, got %d", cmd.CommandPath(), len(args))
			}
			path, err := a.checked(strings.Join(args, ""), profile)
			if err != nil {
				return err
			}
			return a.checkRules(cmd.Context(), path, policy.LoadOptions{Tighten: tighten})
		},
	}
	cmd.Flags().StringArrayVar(&a.flags.config, "config", nil, "compare with the servers of `FILE` only, and take its settings (repeatable)")
	profileFlag(cmd.Flags(), &profile)
	cmd.Flags().BoolVar(&tighten, "project", false, "the file is a project's, so that rules that allow are left out")
	cmd.Flags().BoolVar(&a.flags.json, "json", false, "print the outcome as one object")
	return cmd
}

// checked is the file to check: the one that is named, or that which junction up has for the profile, or the person's own.
func (a *app) checked(named, profile string) (string, error) {
	if named != "" && profile != "" {
		return "", usagef("--profile says which file is checked, and so does %s", named)
	}
	if named != "" {
		return named, nil
	}
	set, _, err := a.servers()
	if err != nil {
		return "", err
	}
	source, err := a.policySource(set, "", profile)
	if err != nil {
		return "", err
	}
	if files := source.files(profile); len(files) > 0 {
		return files[0], nil
	}
	source.report(profile)
	return policyPath("")
}

func (a *app) checkRules(ctx context.Context, path string, o policy.LoadOptions) error {
	file, err := policy.Load(path, o)
	if err == nil {
		_, err = policy.Compile(file.Rules, policy.Options{Default: file.Default})
	}
	if err != nil {
		return err
	}
	for _, ignored := range file.Ignored {
		a.screen.Printf("junction: %v\n", ignored)
	}
	doubts := a.reportUnmatchedRules(ctx, file)
	byDefault := cmp.Or(file.Default, policy.Ask)
	if a.flags.json {
		return a.printObject(struct {
			File    string        `json:"file"`
			Rules   int           `json:"rules"`
			Default policy.Effect `json:"default"`
			Ignored int           `json:"ignored"`
		}{path, len(file.Rules), byDefault, len(file.Ignored)})
	}
	outcome := "nothing is wrong"
	if doubts > 0 {
		outcome = "nothing is wrong, but what is said above"
	}
	_, err = fmt.Fprintf(a.out, "%s: %s, default %s: %s\n", path, plaintext.Count(len(file.Rules), "rule"), byDefault, outcome)
	return err
}

// reportUnmatchedRules names servers of rules that nobody configured, where one has nearly that name or --config says
// which there are, and tools that no server listed, as far as that is remembered. It returns how many there were.
func (a *app) reportUnmatchedRules(ctx context.Context, file *policy.File) (doubts int) {
	set, entries, err := a.servers()
	if err != nil || len(entries) == 0 {
		return 0
	}
	s := &settings.Settings{}
	if len(a.flags.config) > 0 {
		if s, _, err = a.settings(set); err != nil {
			a.screen.Printf("junction: %v\n", err)
			return 1
		}
	}
	w := &vocabulary{servers: configuredNames(set, entries), known: map[string]*offering{}}
	for _, e := range entries {
		if d := remembered(ctx, e, a.store()); d != nil {
			w.known[e.name] = offeringOf(e.name, d, s.Servers[e.name])
		}
	}
	for i := range file.Rules {
		r := &file.Rules[i]
		fault := w.unknownServer(r)
		if len(a.flags.config) == 0 && nearest.Name(r.Server, w.servers) == "" {
			fault = ""
		}
		if fault = cmp.Or(fault, w.unknownTool(r)); fault != "" {
			a.screen.Printf("junction: %s: rule %d: %s\n", file.Path, i+1, fault)
			doubts++
		}
	}
	return doubts
}
