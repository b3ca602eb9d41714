package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/account"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/use"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/cobra"
)

// eachCommand calls do for a command and all below it.
func eachCommand(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, c := range cmd.Commands() {
		eachCommand(c, do)
	}
}

// --json means the same everywhere, and help has the fields.
func TestJSONMeansTheSameForAllCommands(t *testing.T) {
	t.Parallel()
	commands := 0
	eachCommand(root(new(cli.App), nil), func(cmd *cobra.Command) {
		flag := cmd.Flags().Lookup("json")
		if flag == nil {
			return
		}
		commands++
		if flag.Usage != cli.JSONUsage {
			t.Errorf("%s: --json means %q", cmd.CommandPath(), flag.Usage)
		}
		if help := runs(t, "", append(strings.Fields(cmd.CommandPath())[1:], "--help")...).stdout; !strings.Contains(help, cli.JSONFields(cmd, cli.HelpWidth)) {
			t.Errorf("%s: help lacks the fields: %s", cmd.CommandPath(), help)
		}
		for _, v := range flag.Value.(*cli.JSONValue).Written {
			if len(cli.FieldLines(reflect.TypeOf(v), "", map[reflect.Type]string{})) == 0 && v != (struct{}{}) {
				t.Errorf("%s: %T has no fields", cmd.CommandPath(), v)
			}
		}
	})
	if commands < 30 {
		t.Errorf("%d commands have --json", commands)
	}
}

func TestFieldsAreThoseThatAreWritten(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]any{
		"servers\nservers.NAME  source, disabled, error, tools, resources, resourceTemplates, prompts, skills, missing\nservers.NAME.missing[]  server, reason": use.ListsShown{},
		"servers\nservers[]  server, package, locked": cli.ServersShown[*struct {
			Server  string `json:"server"`
			Hidden  string `json:"-"`
			Package string `json:"package,omitempty"`
			Locked  []byte `json:"locked"`
		}]{},
		"": struct{}{},
	} {
		if got := strings.Join(cli.FieldLines(reflect.TypeOf(v), "", map[reflect.Type]string{}), "\n"); got != want {
			t.Errorf("%T: got\n%s\nwant\n%s", v, got, want)
		}
	}
	text, err := json.Marshal(&mcp.CallToolResult{Content: []mcp.Content{{Type: "text"}}, StructuredContent: json.RawMessage("1"), IsError: true, Meta: json.RawMessage("{}")})
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	_ = json.Unmarshal(text, &members) // which was just written
	if fields := cli.FieldLines(reflect.TypeFor[use.CallShown](), "", map[reflect.Type]string{}); len(strings.Split(fields[0], ", ")) != len(members) {
		t.Errorf("a result of a call has %s, help says %q", text, fields)
	}
}

// A value of which help does not have the fields is not written.
func TestOnlyWhatHelpListsIsWritten(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := &cli.App{IO: cli.IO{Stdout: &out}}
	a.Flags.Written = []any{account.SecretsShown{}}
	if err := a.PrintJSON(account.LoginsShown{}); err == nil || out.Len() > 0 {
		t.Errorf("wrote %q, %v", out.String(), err)
	}
	if err := a.PrintJSON(account.SecretsShown{Secrets: []string{"a"}}); err != nil || out.String() != `{"secrets":["a"]}`+"\n" {
		t.Errorf("wrote %q, %v", out.String(), err)
	}
}
