//go:build unix

package config

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestNoSecretIsShown(t *testing.T) {
	const data = `{"inputs":[{"id":"i","type":"promptString"}],"mcpServers":{
		"program":{
			"command":"run-${NAME}",
			"args":["--api-key","s3cret","--token=s3cret","-e","PAT=s3cret","--env=PAT=s3cret","API_KEY=s3cret","${NAME}","${X:-s3cret}","${input:i}",
				"-H","Authorization: Bearer s3cret","authorization: s3cret","ghp_s3cret",
				"https://ada:s3cret@db.example:80/a?b=s3cret&s3cret#s3cret","postgres://ada:s3/cret?s3cret@db"],
			"env":{"A":"s3cret"},"cwd":"/srv/${NAME}"
		},
		"address":{
			"url":"https://ada:s3cret@${HOST:-s3cret}/s/s3cret0123456789abcdefgh/mcp?key=s3cret",
			"headers":{"Authorization":"Bearer s3cret"}
		}
	}}`
	f := parse(t, "servers.json", data, Options{
		Getenv: variables(map[string]string{"NAME": "s3cret", "HOST": "s3cret.example"}),
		Input:  func(context.Context, Input) (string, error) { return "s3cret", nil },
	})
	want := map[string]string{
		"program": `program (stdio): run-${NAME} --api-key *** --token=*** -e PAT=*** --env=*** API_KEY=*** ${NAME} ${X:-***} ${input:i} -H *** *** *** https://***@db.example:80/a?b=***&***#*** *** A=***`,
		"address": `address (auto): https://***@${HOST:-***}/s/***/mcp?key=*** Authorization: ***`,
	}
	for _, d := range f.Servers {
		s, err := d.Resolve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "server", s, "value", *s)
		encoded, err := json.Marshal(s.Redacted())
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{d.String(), s.String(), log.String(), string(encoded), fmt.Sprintf("%v %+v %#v", d, *d, *d), fmt.Sprintf("%v %+v %#v", s, *s, *s)} {
			if strings.Contains(text, "s3cret") {
				t.Errorf("a secret is shown: %s", text)
			}
		}
		same(t, "definition", d.String(), want[d.Name])
		same(t, "server", s.String(), want[d.Name])
	}
}

// TestCommandLineWithAVariableShowsNoValue checks that the error for a command line quotes the
// file, never the value of a variable.
func TestCommandLineWithAVariableShowsNoValue(t *testing.T) {
	o := Options{Getenv: variables(map[string]string{"NAME": "s3cret", "LINE": "npx s3cret"})}
	for command, want := range map[string]string{
		"${NAME} -y foo":  `is a whole command line, and no shell splits it; write "command": "${NAME}", and the other words in "args"`,
		"${X:-s3cret} -y": `is a whole command line, and no shell splits it; write "command": "${X:-***}", and the other words in "args"`,
		"${LINE}":         `is a whole command line in a variable, and no shell splits it; write a program in "command", and the other words in "args"`,
		"npx ${NAME}":     `is a whole command line, and no shell splits it; write "command": "npx", and the other words in "args"`,
	} {
		f := parse(t, "servers.json", `{"mcpServers":{"a":{"command":"`+command+`"}}}`, o)
		_, err := f.Servers[0].Resolve(t.Context())
		if err == nil {
			t.Errorf("%s: no error", command)
			continue
		}
		same(t, command, err.Error(), `servers.json: server "a": command: `+want)
	}
}

func TestServersMadeByHandAreRedactedToo(t *testing.T) {
	s := Server{Name: "a", Kind: Stdio, Command: "x", Args: []string{"--token", "s3cret", "two words"}, Env: map[string]string{"A": "s3cret"}}
	same(t, "text", s.String(), `a (stdio): x --token *** "two words" A=***`)
	same(t, "the original is kept", s.Args[1]+s.Env["A"], "s3crets3cret")
}

func TestACommandIsShownInFull(t *testing.T) {
	long := strings.Repeat("one ", 200)
	f := parse(t, "servers.json", `{"mcpServers":{"a":{"command":"python3","args":["-c","`+long+`end"]}}}`, Options{})
	if text := f.Servers[0].String(); !strings.Contains(text, long+"end") {
		t.Errorf("two commands that differ behind what is shown would be the same to who approves them: %s", text)
	}
}
