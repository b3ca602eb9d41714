package use

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/show"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
	"github.com/spf13/cobra"
)

// skillList returns the list of skills.
func skillList() List {
	return List{Method: revision.MethodNamed(skills.MethodList), Command: "skills", Text: texts(show.Skills), Brief: nil}
}

// skillsCommand returns the command skills.
func skillsCommand(a *cli.App) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "skills [SERVER [SKILL [FILE]] | [SKILL [FILE]] -- COMMAND…]",
		Short: "List the skills of a server, or of all servers, or print one",
		Long: `List the skills of a server; without SERVER, those of every configured server. With
SKILL, a name or the URI of a SKILL.md, print that SKILL.md. With FILE, such as
references/guide.md, print that file of the skill. A file is not printed if its size,
digest or frontmatter differs from the server's list.

` + listHelp(),
		ValidArgsFunction: reach.CompleteFrom(a, addSkills),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && cmd.ArgsLenAtDash() < 0 {
				return listServers(a, cmd, skillList(), args, f)
			}
			t, words, err := listTarget(a, cmd, args, f)
			switch {
			case err != nil:
				return err
			case len(words) == 0:
				return listOne(cmd.Context(), a, skillList(), t, nil, f)
			case len(words) > 2:
				return cli.Usagef("%s: unexpected %q", cmd.CommandPath(), words[2])
			}
			return printSkill(cmd.Context(), a, t, words[0], append(words, "")[1])
		},
	}
	f.define(a, cmd, skillShown{})
	return cmd
}

// printSkill prints one file of a skill. The path is relative to the folder of the skill, and an
// empty path means SKILL.md.
func printSkill(ctx context.Context, a *cli.App, t launch.Target, name, file string) error {
	client, err := reach.Connect(ctx, a, t)
	if err != nil {
		return err
	}
	defer client.Close()
	s, err := findSkill(ctx, client, name)
	if err != nil {
		return err
	}
	uri := s.URI
	if file != "" {
		uri = s.Root() + "/" + file
	}
	contents, err := s.Read(ctx, client, uri)
	if err != nil {
		return err
	}
	if a.Flags.JSON {
		return a.PrintJSON(skillShown{s, contents})
	}
	text, err := show.Contents(&mcp.ReadResourceResult{Contents: []mcp.ResourceContents{*contents}}, a.Out.Width(), show.SaveTo(a.Path(a.Flags.Output)))
	_, printing := fmt.Fprint(a.Out, text)
	return cmp.Or(err, printing)
}

// A skillShown is the output of skills --json for one skill.
type skillShown struct {
	Skill    *skills.Skill         `json:"skill"`
	Contents *mcp.ResourceContents `json:"contents"`
}

// findSkill returns the skill with a name or URI. If the name is ambiguous, the error lists the
// matching URIs.
func findSkill(ctx context.Context, c *mcp.Client, name string) (*skills.Skill, error) {
	if !skills.Declared(c.Capabilities()) {
		return nil, cli.Usagef("the server has no skills")
	}
	if strings.Contains(name, "://") {
		return skills.Get(ctx, c, name)
	}
	all, faults, err := skills.List(ctx, c)
	if err != nil {
		return nil, err
	}
	var names, uris []string
	var found *skills.Skill
	for _, s := range all {
		names = append(names, s.Name())
		if s.Name() == name {
			found = s
			uris = append(uris, s.URI)
		}
	}
	for _, fault := range faults {
		if strings.Contains(fault.Error(), "/"+name+"/") {
			return nil, fault
		}
	}
	slices.Sort(uris)
	switch {
	case len(uris) > 1:
		return nil, cli.Usagef("several skills are called %q; name one of %s", name, strings.Join(uris, ", "))
	case found == nil:
		return nil, cli.Usagef("the server lists no skill %q%s", name, cli.Suggestion(nearest.Name(name, names)))
	}
	return found, nil
}

// addSkills adds the names of all skills to the completions.
func addSkills(ctx context.Context, c *mcp.Client, add func(name, what string)) {
	if !skills.Declared(c.Capabilities()) {
		return
	}
	all, _, _ := skills.List(ctx, c) // completion ignores errors
	for _, s := range all {
		add(s.Name(), s.Description())
	}
}
