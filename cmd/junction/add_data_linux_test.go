package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// To a server that writes where it may not keep it all is well, until it starts again: so add says it before.
func TestAddKeepsWritablePathsOrReportsThem(t *testing.T) {
	const given, lost = "graph gets ", ", which does not exist, and files that the server writes there are deleted when the server ends: "
	for _, c := range []struct {
		name  string
		typed string // "": with --yes
		flags string // HOME is the home folder
		args  string
		code  int
		write string // that the profile has then
		says  string // on standard error
	}{
		{"a variable, with a file in a folder that all use", "", "--env DATA_FILE=HOME/memory.jsonl", "", cli.ExitUsage, "",
			given + "DATA_FILE=HOME/memory.jsonl" + lost + "other programs use that folder, so give the server a folder of its own, with --env DATA_FILE=HOME/graph-data/memory.jsonl --write HOME/graph-data; --read HOME/memory.jsonl adds it nevertheless"},
		{"as that says", "", "--env DATA_FILE=HOME/graph-data/memory.jsonl --write HOME/graph-data", "", cli.ExitOK, "~/graph-data", ""},
		{"in a folder of its own", "", "--env DATA_FILE=HOME/own/memory.jsonl", "", cli.ExitUsage, "", given + "DATA_FILE=HOME/own/memory.jsonl" + lost + "--write HOME/own lets the server keep its data; "},
		{"in one that is not there", "", "--env DATA_FILE=HOME/no/such/memory.jsonl", "", cli.ExitUsage, "", "--write HOME/no/such lets the server keep its data; "},
		{"a folder that is not there", "", "--env DATA_DIR=HOME/data", "", cli.ExitUsage, "", given + "DATA_DIR=HOME/data" + lost + "--write HOME/data lets the server keep its data; "},
		{"a folder that is there", "", "--env DATA_DIR=HOME/own", "", cli.ExitOK, "~/own", ""},
		{"an argument", "", "", "--file HOME/memory.jsonl", cli.ExitUsage, "", given + "HOME/memory.jsonl" + lost + "other programs use that folder, so give the server a folder of its own: write HOME/graph-data/memory.jsonl in place of that path, and add --write HOME/graph-data; "},
		{"a file that it may write", "", "--env DATA_FILE=HOME/memory.jsonl --write HOME/memory.jsonl", "", cli.ExitOK, "~/memory.jsonl", ""},
		{"a file that it only reads", "", "--env DATA_FILE=HOME/memory.jsonl --read HOME/memory.jsonl", "", cli.ExitOK, "", ""},
		{"without a sandbox", "", "--env DATA_FILE=HOME/memory.jsonl --no-sandbox", "", cli.ExitOK, "", ""},
		{"the home folder, the system's and a path of a URL", "", "--env A=HOME --env B=/usr/lib --env C=/graphql --env D=/api/v1/x --env E=word", "", cli.ExitOK, "", ""},
		{"and yes is said, of a file that moves", "y\ny\n", "--env DATA_FILE=HOME/memory.jsonl", "", cli.ExitOK, "~/graph-data",
			given + "DATA_FILE=HOME/memory.jsonl, which does not exist. Other programs use that folder. Give it the writable folder ~/graph-data/memory.jsonl instead? [y]es, [N]o >"},
		{"and yes is said, of an argument that moves", "y\ny\n", "", "--file HOME/memory.jsonl", cli.ExitOK, "~/graph-data", "Give it the writable folder ~/graph-data/memory.jsonl instead"},
		{"and yes is said, of a folder", "y\ny\n", "--env DATA_FILE=HOME/own/memory.jsonl", "", cli.ExitOK, "~/own", "Let it write into ~/own, to keep its files? [y]es, [N]o >"},
		{"and no is said", "n\ny\n", "--env DATA_FILE=HOME/own/memory.jsonl", "", cli.ExitOK, "", "Let it write into ~/own, to keep its files?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			clitest.InProcess(t)
			s := newPackageSet(t)
			s.versions["@x/graph@1.0.0"] = self(t, "serve", "memory")
			home, err := clitest.PlaceOf(t).Getwd()
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(clitest.In(t, "own"), 0o700); err != nil {
				t.Fatal(err)
			}
			fill := strings.NewReplacer("HOME", home)
			args := append([]string{"add", "npm:@x/graph@1.0.0"}, strings.Fields(fill.Replace(c.flags))...)
			if c.typed == "" {
				args = append(args, "--yes")
			}
			args = append(append(args, "--"), strings.Fields(fill.Replace(c.args))...)
			got := s.runs(t, c.typed, args...)
			got.stderr = strings.Join(strings.Fields(got.stderr), " ")
			out := ""
			if c.code == cli.ExitOK {
				out = `Added "graph"`
			}
			got.expect(t, c.code, out, fill.Replace(c.says))
			if c.code != cli.ExitOK {
				if _, err := os.Stat(clitest.In(t, filepath.Join("junction", "mcp.json"))); err == nil {
					t.Error("it was added")
				}
				return
			}
			configuration, lock := pair(t)
			if c.write == "" && strings.Contains(lock, `"write"`) || c.write != "" && !strings.Contains(strings.Join(strings.Fields(lock), ""), `"write":["`+c.write+`"]`) {
				t.Errorf("it may write something else than %q: %s", c.write, lock)
			}
			if moved := home + "/graph-data/memory.jsonl"; strings.Contains(c.name, "moves") && (!strings.Contains(configuration, moved) || strings.Contains(configuration, home+"/memory.jsonl")) {
				t.Errorf("the entry names another file: %s", configuration)
			}
			if noted := strings.Contains(strings.Join(strings.Fields(got.stdout), " "), "are deleted when the server ends: --write "+home+"/own lets the server keep its data"); noted != strings.HasPrefix(c.typed, "n") {
				t.Errorf("noted is %v: %s", noted, got.stdout)
			}
		})
	}
}

// A server that keeps its data in its own package, as some do unless a variable says otherwise, cannot there.
func TestAddSaysOfAServerThatItKeepsNothing(t *testing.T) {
	const note = "it cannot save data, so its data is lost"
	for _, c := range []struct{ server, readme, flags, want string }{
		{"memory", "Set `MEMORY_FILE_PATH` to a file, and LOG_LEVEL.", "--name graph", note + "; to give it a place: its README names MEMORY_FILE_PATH; junction server add npm:@x/graph@1.0.0 --name graph --env MEMORY_FILE_PATH=FOLDER/… --write FOLDER"},
		{"memory", "", "", note + "; to give it a place: junction server add npm:@x/graph@1.0.0 --write FOLDER"},
		{"memory", "", "--write ~/graph-data", ""},
		{"memory", "", "--host api.example.com", ""},
		{"memory", "", "--no-sandbox", ""},
		{"time", "", "", ""}, // whose tools only read
	} {
		clitest.Alone(t)
		s := newPackageSet(t)
		s.versions["@x/graph@1.0.0"] = self(t, "serve", c.server)
		writeBelow(t, s.dir, "node_modules/@x/graph/package.json", "{}")
		writeBelow(t, s.dir, "node_modules/@x/graph/README.md", c.readme)
		got := s.runs(t, "", append([]string{"add", "npm:@x/graph@1.0.0", "--yes"}, strings.Fields(c.flags)...)...)
		said := strings.Join(strings.Fields(got.stdout), " ")
		if got.code != cli.ExitOK || !strings.Contains(said, c.want) || strings.Contains(said, note) != (c.want != "") {
			t.Errorf("%s %s: %+v", c.server, c.flags, got)
		}
	}
}

// Where its package names the one variable that says where a server keeps its data, the question has a place for it.
func TestAddGivesAServerAPlaceForItsData(t *testing.T) {
	const place = "~/.local/share/junction/graph"
	for _, c := range []struct{ readme, typed, question, variable, path string }{
		{"| `MEMORY_FILE_PATH` | where |\n\"MEMORY_FILE_PATH\": \"/path/to/memory.jsonl\"", "d\n", "unless MEMORY_FILE_PATH gives a place for it. Add it? [y]es, with [d]ata in " + place + ", [N]o >", "MEMORY_FILE_PATH", "/memory.jsonl"},
		{"MEMORY_DIR is a folder, MEMORY_DIR.", "data\n", "unless MEMORY_DIR gives a place for it.", "MEMORY_DIR", ""},
		{"GRAPH_DB=graph.db", "d\n", "unless GRAPH_DB gives a place for it.", "GRAPH_DB", "/graph.db"},
		{"MEMORY_FILE_PATH", "y\n", "unless MEMORY_FILE_PATH gives a place for it.", "", ""},
		{"MEMORY_DIR or CACHE_DIR", "d\n", "Add it? [y]es, [N]o >", "", ""},
	} {
		clitest.Alone(t)
		s := newPackageSet(t)
		s.versions["@x/graph@1.0.0"] = self(t, "serve", "memory")
		writeBelow(t, s.dir, "node_modules/@x/graph/package.json", "{}")
		writeBelow(t, s.dir, "node_modules/@x/graph/README.md", c.readme)
		got := s.runs(t, c.typed, "add", "npm:@x/graph@1.0.0")
		if said := strings.Join(strings.Fields(got.stderr+got.stdout), " "); !strings.Contains(said, c.question) {
			t.Errorf("%s: asked is %s", c.readme, said)
		}
		home, err := clitest.PlaceOf(t).Getwd()
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(home, ".local", "share", "junction", "graph")
		configuration, lock := pair(t)
		if c.variable == "" {
			if strings.Contains(configuration, folder) || strings.Contains(lock, `"write"`) {
				t.Errorf("%s: it may write unasked: %s %s", c.readme, configuration, lock)
			}
			continue
		}
		made, err := os.Stat(folder)
		if want := `"` + c.variable + `": "` + folder + c.path + `"`; got.code != cli.ExitOK || !strings.Contains(configuration, want) || !strings.Contains(strings.Join(strings.Fields(lock), ""), `"write":["`+place+`"]`) || err != nil || !made.IsDir() {
			t.Errorf("%s: %+v\n%s\n%s", c.readme, got, configuration, lock)
		}
	}
}
