package hostconfig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// savedByRenaming replaces a link by a file, like VS Code, Cursor and Claude Code when they save.
func savedByRenaming(t *testing.T, link, data string) {
	t.Helper()
	write(t, link+".tmp", data)
	if err := os.Rename(link+".tmp", link); err != nil {
		t.Fatal(err)
	}
}

// linked returns a file and a link to it.
func linked(t *testing.T) (target, link string) {
	t.Helper()
	target = write(t, filepath.Join(t.TempDir(), "dotfiles", "mcp.json"), cursorFile)
	link = filepath.Join(t.TempDir(), "mcp.json")
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	return target, link
}

func TestAFileThatTheHostPutInThePlaceOfALinkIsPutBackToo(t *testing.T) {
	target, link := linked(t)
	j, release := applied(t, link, Record{})
	savedByRenaming(t, link, content(t, link))
	release()
	if _, err := apply(j, link, Record{}); !errors.Is(err, ErrInUse) {
		t.Errorf("it is tapped a second time: %v", err)
	}
	done := restoreOne(t, j)
	if !done.Whole || done.Also == nil || !done.Also.Whole || filepath.Base(done.Also.Path) != "mcp.json" {
		t.Errorf("%+v", done)
	}
	if content(t, target) != cursorFile || content(t, link) != cursorFile {
		t.Errorf("behind the link: %s\nin its place: %s", content(t, target), content(t, link))
	}
	if records, err := j.Records(); err != nil || len(records) != 0 {
		t.Errorf("%v, %v", records, err)
	}
}

func TestRestoreDoesNotFollowNewLinks(t *testing.T) {
	target, link := linked(t)
	j, _ := applied(t, link, Record{Kept: true})
	changed := content(t, link)
	savedByRenaming(t, link, changed)
	write(t, target, cursorFile) // by hand
	if done, err := j.Recover(); err != nil || len(done) != 0 || content(t, link) != changed {
		t.Errorf("%v, %v: %s", done, err, content(t, link))
	}
}

// The original must survive if a host deletes its file and writes it again, or if a drive is not
// mounted.
func TestTheOriginalOfAFileThatIsAwayIsKept(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "project", "mcp.json"), cursorFile)
	j, release := applied(t, path, Record{})
	release()
	folder := filepath.Dir(path)
	if err := os.Rename(folder, folder+".away"); err != nil {
		t.Fatal(err)
	}
	if done, err := j.Recover(); err == nil || len(done) != 0 || !strings.Contains(err.Error(), "its folder cannot be found: ") || !strings.Contains(err.Error(), "if it was deleted, remove "+j.Folder) {
		t.Errorf("%v, %v", done, err)
	}
	if err := os.Rename(folder+".away", folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if done := restoreOne(t, j); !done.Gone || content(t, done.Original) != cursorFile {
		t.Errorf("%+v", done)
	}
	if records, err := j.Records(); err != nil || len(records) != 0 {
		t.Errorf("%v, %v", records, err)
	}
}

func TestTheCopyOfAnOriginalIsNotReplacedByALaterOne(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "mcp.json"), cursorFile)
	j := Journal{Folder: filepath.Join(t.TempDir(), "taps")}
	var originals []string
	for _, word := range []string{`"one"`, `"two"`} {
		release, err := apply(j, path, Record{})
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, strings.Replace(content(t, path), `"proxy"`, word, 1))
		release()
		originals = append(originals, restoreOne(t, j).Original)
	}
	if originals[0] == originals[1] || content(t, originals[0]) != cursorFile || content(t, originals[1]) == cursorFile {
		t.Errorf("%q: %s, %s", originals, content(t, originals[0]), content(t, originals[1]))
	}
}

// If two processes recover a killed one, the later one may have read a record that is no longer
// valid.
func TestARecordThatWasReadBeforeTheNextChangeTakesNothingBack(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "mcp.json"), cursorFile)
	j, release := applied(t, path, Record{})
	release()
	stale, err := j.Records()
	if err != nil || len(stale) != 1 || stale[0].Alive {
		t.Fatal(stale, err)
	}
	if _, err := j.Recover(); err != nil {
		t.Fatal(err)
	}
	if done, err := j.Restore(stale[0]); err != nil || !done.Whole {
		t.Errorf("what is done already does harm: %v, %v", done, err)
	}
	hold, err := apply(j, path, Record{})
	if err != nil {
		t.Fatal(err)
	}
	defer hold()
	changed := content(t, path)
	living, err := j.Records()
	if err != nil || len(living) != 1 || !living[0].Alive {
		t.Fatal(living, err)
	}
	for name, r := range map[string]*Record{"an earlier change": stale[0], "a change whose owner lives": living[0]} {
		if done, err := j.Restore(r); !errors.Is(err, ErrInUse) || done != nil || content(t, path) != changed {
			t.Errorf("%s: %v, %v: %s", name, done, err, content(t, path))
		}
	}
	if records, err := j.Records(); err != nil || len(records) != 1 {
		t.Errorf("%v, %v", records, err)
	}
}

func TestAFileWithTwoNamesIsFoundOnce(t *testing.T) {
	home, link := t.TempDir(), filepath.Join(t.TempDir(), "home")
	if err := os.Symlink(home, link); err != nil {
		t.Skip(err)
	}
	path := write(t, filepath.Join(home, ".cursor", "mcp.json"), cursorFile)
	h, _, _ := LookupHost("cursor")
	found := Find(h, Options{Getenv: func(string) string { return "" }, WorkDir: home, HomeDir: link})
	if len(found) != 1 || found[0] != path {
		t.Errorf("found %q", found)
	}
}

// A file that was changed elsewhere since it was connected is restored, byte for byte except for
// that change.
func TestRestoreRemovesOnlyConnectedEntries(t *testing.T) {
	type sample struct{ name, data string }
	samplesOf := func(h Host, path string) []sample {
		root := h.root
		if root == "" {
			root = "mcpServers"
		}
		switch filepath.Ext(path) {
		case ".toml":
			return []sample{
				{"comments", "# mine\nmodel = \"o3\" # the model\n\n# of others\n"},
				{"blank lines", "model = \"o3\"\n\n\n"},
				{"no final newline", "[profiles.fast]\nmodel = \"mini\""},
				{"CRLF", crlf("model = \"o3\"\n\n[profiles.fast]\nmodel = \"mini\"\n")},
				{"servers", "[mcp_servers.a]\ncommand = \"x\"\n\n# of b\n[mcp_servers.b]\ncommand = \"y\"\n"},
				{"a table after servers", "[mcp_servers.a]\ncommand = \"x\"\n\n\n[profiles.fast]\nmodel = \"mini\"\n"},
				{"empty", ""},
			}
		case ".yaml":
			servers := root + ":\n  a: # the first\n    cmd: x\n    type: stdio\n    enabled: true\n"
			if h.ID == "continue" {
				servers = root + ":\n  - name: a # the first\n    command: x\n"
			}
			return []sample{
				{"comments", "# mine\nversion: 1.0.0 # the version\n\n# of others\n"},
				{"no final newline", "version: 1.0.0"},
				{"CRLF", crlf("version: 1.0.0\n\nname: mine\n")},
				{"servers", "version: 1.0.0\n" + servers},
				{"a member after servers", servers + "\n\nversion: 1.0.0\n"},
				{"empty", ""},
			}
		}
		return []sample{
			{"comments", "// mine\n{\n  \"b\": 1, // the one\n  /* of others */\n}\n"},
			{"no final newline", "{\"b\": 1}"},
			{"CRLF", crlf("{\n\t\"b\": 1\n}\n")},
			{"servers", "{\n    \"" + root + "\": {\n        \"a\": {\"command\": \"x\"}, // the first\n        \"b\":\n {\"command\": \"y\"}\n    }\n}"},
			{"a member after servers", "{\"" + root + "\": {\"a\": {\"command\": \"x\"}},\n\n\n\"b\": 1}\n"},
			{"an object without servers", "{\n  \"" + root + "\": {},\n  \"b\": 1\n}\n"},
		}
	}
	for _, h := range Hosts() {
		for _, path := range append(h.user, "mcp.json")[:1] {
			path = filepath.Base(path)
			for _, s := range samplesOf(h, path) {
				for _, change := range []struct {
					name string
					of   func(data string) string
				}{
					{"nothing", func(data string) string { return data }},
					{"behind", func(data string) string {
						switch filepath.Ext(path) {
						case ".toml":
							return data + "\n[own]\nx = 1 # mine\n"
						case ".yaml":
							return data + "\nown: 1 # mine\n"
						}
						return data + "\n// mine\n\n"
					}},
					{"in front", func(data string) string {
						switch filepath.Ext(path) {
						case ".toml":
							return "own = 1 # mine\n\n\n" + data
						case ".yaml":
							return "own: 1 # mine\n\n\n" + data
						}
						return strings.Replace(data, "{", "{\n\n   \"own\": 1,", 1)
					}},
				} {
					t.Run(h.ID+"/"+s.name+"/"+change.name, func(t *testing.T) {
						var documents [3]*Document
						var c Change
						for i, data := range []string{s.data, "", ""} {
							if i == 1 {
								after, done, err := documents[0].Connect(&upStdio, replaceable(documents[0]))
								if err != nil {
									t.Fatal(err)
								}
								data, c = string(after), done
							} else if i == 2 {
								data = change.of(string(documents[1].Data))
							}
							var err error
							if documents[i], err = Parse(h, path, []byte(data)); err != nil {
								t.Fatal(err)
							}
						}
						data, left, err := restored(documents[0], documents[1], documents[2], []Change{c})
						if err != nil {
							t.Fatal(err)
						}
						data = cut(documents[0], documents[1], documents[2], data)
						if got, want := string(data), change.of(s.data); got != want || len(left) > 0 {
							t.Errorf("left %q\ngot  %q\nwant %q\nconnected: %q", left, got, want, documents[1].Data)
						}
					})
				}
			}
		}
	}
}

// Codex may rewrite its file. The blank line that connect wrote before its table is still removed.
func TestRestoreOfRewrittenTableLeavesNoBlankLine(t *testing.T) {
	h, _, _ := LookupHost("codex")
	for _, ending := range []func(string) string{func(s string) string { return s }, crlf} {
		before := ending("model = \"o3\"\n")
		d, err := Parse(h, "config.toml", []byte(before))
		if err != nil {
			t.Fatal(err)
		}
		after, c, err := d.Connect(&upStdio, nil)
		if err != nil {
			t.Fatal(err)
		}
		connected, err := Parse(h, "config.toml", after)
		if err != nil {
			t.Fatal(err)
		}
		now, err := Parse(h, "config.toml", []byte(strings.ReplaceAll(string(after), " = ", "  = ")))
		if err != nil {
			t.Fatal(err)
		}
		data, left, err := restored(d, connected, now, []Change{c})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(cut(d, connected, now, data)), ending("model  = \"o3\"\n"); got != want || len(left) > 0 {
			t.Errorf("left %q, got %q, want %q", left, got, want)
		}
	}
}
