package policy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/internal/filelock"
)

func TestLoadReadsRulesWithTheirPlaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.json")
	text := "\xef\xbb\xbf" + `{
  // what I said
  "$schema": "x",
  "rules": [
    {"effect": "allow", "tool": "a", "source": "elsewhere"},
    /* two lines
    */ {"name": "b", "effect": "deny",}, // note
  ],
  "default": "deny",
}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := Load(path, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Rule{{Effect: Allow, Tool: "a", Source: path + ":5"}, {Name: "b", Effect: Deny, Source: path + ":7"}}
	if len(file.Rules) != 2 || file.Rules[0] != want[0] || file.Rules[1] != want[1] || file.Default != Deny || file.DefaultSource != path+":9" || file.Path != path {
		t.Errorf("got %+v", file)
	}
}

func TestTrustedServersAreInTheUsersFileOnly(t *testing.T) {
	const text = `{"trusted": ["files"], "public": ["search", "weather"]}`
	own, err := Parse("p.json", []byte(text), LoadOptions{})
	if err != nil || !slices.Equal(own.Trusted, []string{"files"}) || !slices.Equal(own.Public, []string{"search", "weather"}) {
		t.Errorf("got %+v and %v", own, err)
	}
	projects, err := Parse("p.json", []byte(text), LoadOptions{Tighten: true})
	if err != nil || projects.Trusted != nil || projects.Public != nil || len(projects.Ignored) != 2 {
		t.Errorf("a project's file: %+v and %v", projects, err)
	}
	if _, err := Parse("p.json", []byte(`{"trusted": "files"}`), LoadOptions{}); err == nil || !strings.Contains(err.Error(), "p.json:1: trusted: expected an array") {
		t.Errorf("no list: %v", err)
	}
}

func TestLoadReportsFaultsWithTheirPlace(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"no JSON", `{"rules": [`, "p.json: not JSON: "},
		{"no object", `[]`, "expected an object, found"},
		{"a member that is unknown", "{\n\"rule\": []}", `p.json:2: "rule": is unknown; there are "rules", "default", "trusted" and "public"`},
		{"a member that is there twice", `{"rules": [], "rules": []}`, "p.json: "},
		{"rules that are none", `{"rules": {}}`, "p.json:1: rules: expected an array"},
		{"a rule that is none", `{"rules": [7]}`, "p.json:1: rule 1: "},
		{"a misspelt word", "{\"rules\": [{},\n{\"efect\": \"deny\"}]}", "p.json:2: rule 2: efect"},
		{"a value of another type", `{"rules": [{"effect": 1}]}`, "p.json:1: rule 1: effect: expected string"},
		{"a default that is none", `{"default": "no"}`, `p.json:1: default: unknown effect "no"; write "allow"`},
		{"a default of another type", `{"default": ["allow"]}`, `p.json:1: default: missing`},
		{"too much", strings.Repeat(" ", maxFile+1), "too large"},
		{"too deep", strings.Repeat("[", maxBrackets+1), "too large"},
		{"text that may be secret", `{"rules": secret-token}`, "p.json: not JSON"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("p.json", []byte(test.text), LoadOptions{})
			if err == nil || !strings.Contains(err.Error(), test.want) || !errors.As(err, new(*Problem)) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.json"), LoadOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := Load(t.TempDir(), LoadOptions{}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v", err)
	}
}

func TestTightenedRulesNeverLoosen(t *testing.T) {
	project, err := Parse("project.json", []byte(`{"rules": [
		{"effect": "allow", "server": "files", "tool": "read_file"},
		{"effect": "ask", "server": "files", "tool": "read_file", "when": "args.limit == 10"},
		{"effect": "deny", "server": "web"}], "default": "allow"}`), LoadOptions{Tighten: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(project.Rules) != 2 || len(project.Ignored) != 1 || !strings.Contains(project.Ignored[0].Error(), "project.json:2: rule 1: is left out") {
		t.Fatalf("got %+v", project)
	}
	empty, err := Compile(nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range pool() {
		alone, err := empty.With(own)
		if err != nil {
			t.Fatal(err)
		}
		with, err := alone.With(project.Rules...)
		if err != nil {
			t.Fatal(err)
		}
		before, after := alone.Decide(t.Context(), read), with.Decide(t.Context(), read)
		if after.Effect.strictness() < before.Effect.strictness() {
			t.Errorf("%s became %s by %s", before.Effect, after.Effect, after.Rule)
		}
		if after.Effect == Allow {
			t.Errorf("%s by %s in spite of the project", after.Effect, after.Rule)
		}
	}
}

func TestAppendKeepsTheFormOfTheFile(t *testing.T) {
	rule := Rule{Effect: Allow, Tool: "x", Source: "session"}
	const text = `{"effect":"allow","tool":"x"}`
	for _, test := range []struct{ name, before, after string }{
		{"no rules yet", "{\n  // mine\n  \"rules\": []\n}\n", "{\n  // mine\n  \"rules\": [\n    " + text + "\n  ]\n}\n"},
		{"nothing but a comment", "{\n  \"rules\": [\n    // later\n  ]\n}", "{\n  \"rules\": [\n    // later\n    " + text + "\n  ]\n}"},
		{"one on a line", "{\n\t\"rules\": [\n\t\t{\"effect\": \"deny\"} // note\n\t], // end\n}", "{\n\t\"rules\": [\n\t\t{\"effect\": \"deny\"}, // note\n\t\t" + text + "\n\t], // end\n}"},
		{"a comma at the end", "{\"rules\": [\n  {\"effect\": \"deny\"}, // note\n  // more\n]}", "{\"rules\": [\n  {\"effect\": \"deny\"}, // note\n  " + text + ",\n  // more\n]}"},
		{"all on one line", `{"rules": [{"effect": "deny"}], "default": "ask"}`, `{"rules": [{"effect": "deny"}, ` + text + `], "default": "ask"}`},
		{"a comment of two lines", "{\"rules\": [{\"effect\": \"deny\"} /* a\n b */]}", ""},
		{"no member rules", "{\n  \"default\": \"ask\"\n}", ""},
		{"it is there", `{"rules": [{"tool": "x", "effect": "allow"}]}`, `{"rules": [{"tool": "x", "effect": "allow"}]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "policy.json")
			if err := os.WriteFile(path, []byte(test.before), 0o640); err != nil {
				t.Fatal(err)
			}
			if err := Append(t.Context(), path, rule); err != nil {
				t.Fatal(err)
			}
			after, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if test.after != "" && string(after) != test.after {
				t.Errorf("got\n%s\nwant\n%s", after, test.after)
			}
			file, err := Load(path, LoadOptions{})
			if err != nil || file.Rules[len(file.Rules)-1].Tool != "x" {
				t.Errorf("%v of\n%s", err, after)
			}
			for comment := range strings.SplitSeq(test.before, "\n") {
				if _, note, found := strings.Cut(comment, "//"); found && !strings.Contains(string(after), note) {
					t.Errorf("%q is lost in\n%s", note, after)
				}
			}
			if left, _ := filepath.Glob(path + ".*.new"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestAppendTrustedNamesAServerOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(path, []byte("{\n  \"rules\": [], // mine\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a@1", "b", "a@1"} {
		if err := AppendTrusted(t.Context(), path, name); err != nil {
			t.Fatal(err)
		}
	}
	text, _ := os.ReadFile(path)
	if file, err := Load(path, LoadOptions{}); err != nil || !slices.Equal(file.Trusted, []string{"a@1", "b"}) || !strings.Contains(string(text), "// mine") {
		t.Errorf("got %+v, %v of %s", file, err, text)
	}
}

func TestANewMemberHasTheFormOfTheOthers(t *testing.T) {
	for before, want := range map[string]string{
		"{\n  \"rules\": []\n}\n":                        "{\n  \"rules\": [],\n  \"trusted\": [\n    \"files\"\n  ]\n}\n",
		"{\n  // mine\n  \"default\": \"ask\", // so\n}": "{\n  // mine\n  \"default\": \"ask\", // so\n  \"trusted\": [\n    \"files\"\n  ]\n}",
		`{"rules": []}`:                                  "{\"rules\": [],\"trusted\": [\n    \"files\"\n  ]}",
		`{}`:                                             "{\"trusted\":[\n    \"files\"\n  ]}",
	} {
		path := filepath.Join(t.TempDir(), "policy.json")
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := AppendTrusted(t.Context(), path, "files"); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s became\n%s\nwant\n%s\n%v", before, got, want, err)
		}
	}
}

func TestAppendMakesTheFileForItsOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "junction", "policy.json")
	if err := Append(t.Context(), path, Rule{Effect: Deny, Tool: "x"}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if file, err := Load(path, LoadOptions{}); err != nil || len(file.Rules) != 1 {
		t.Errorf("got %+v, %v", file, err)
	}
}

func TestAppendKeepsTheFileValid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.json")
	const broken = `{"rules": [{"effect": "deny"}`
	if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Append(t.Context(), path, Rule{Effect: Deny}); err == nil || !strings.Contains(err.Error(), "not JSON") {
		t.Errorf("a broken file: %v", err)
	}
	if err := Append(t.Context(), path, Rule{Effect: Deny, When: "foo"}); err == nil || !strings.Contains(err.Error(), "undeclared") {
		t.Errorf("a broken rule: %v", err)
	}
	if after, _ := os.ReadFile(path); string(after) != broken {
		t.Errorf("the file became %s", after)
	}
}

func TestAppendFollowsALink(t *testing.T) {
	folder := t.TempDir()
	real, link := filepath.Join(folder, "real.json"), filepath.Join(folder, "policy.json")
	if err := os.WriteFile(real, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	if err := Append(t.Context(), link, Rule{Effect: Deny}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if file, err := Load(real, LoadOptions{}); err != nil || len(file.Rules) != 1 {
		t.Errorf("got %+v, %v", file, err)
	}
}

func TestNoRuleIsLostWhereManyAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.json")
	var all sync.WaitGroup
	const writers, each = 4, 5
	for i := range writers {
		all.Go(func() {
			for j := range each {
				if err := Append(t.Context(), path, Rule{Effect: Deny, Tool: fmt.Sprint(i, j)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if file, err := Load(path, LoadOptions{}); err != nil || len(file.Rules) != writers*each {
		t.Errorf("got %+v, %v", file, err)
	}
}

func TestAppendDoesNotWaitForEver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.json")
	unlock, err := filelock.Wait(t.Context(), path+".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	synctest.Test(t, func(t *testing.T) {
		if err := Append(t.Context(), path, Rule{Effect: Deny}); err == nil || !strings.Contains(err.Error(), "another process has held") {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := Append(ctx, path, Rule{Effect: Deny}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func FuzzAppendedFilesHoldTheRule(f *testing.F) {
	f.Add(`{"rules": [{"effect": "deny"} // x` + "\n" + `]}`)
	f.Add("{/**/\"rules\"/**/:/**/[/**/]/**/}")
	f.Add("{\"rules\": [{\"effect\": \"ask\"}, // a\n// b\n]}")
	f.Fuzz(func(t *testing.T, text string) {
		before, err := Parse("p", []byte(text), LoadOptions{})
		if err != nil {
			return
		}
		added := Rule{Name: "added", Effect: Ask, When: `args == {"a": "\""}`}
		after, err := withRule("p", []byte(text), added)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if after == nil {
			return
		}
		file, err := Parse("p", after, LoadOptions{})
		if err != nil || len(file.Rules) != len(before.Rules)+1 {
			t.Fatalf("%q became %q: %v", text, after, err)
		}
		last := file.Rules[len(file.Rules)-1]
		if last.Source = ""; last != added {
			t.Errorf("got %+v", last)
		}
	})
}
