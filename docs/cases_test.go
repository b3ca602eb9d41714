package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cases"
	"go.yaml.in/yaml/v3"
)

// isCases reports whether a block is a file of cases, which is what its label says.
func isCases(b block) bool {
	return b.kind == "yaml" && slices.Contains([]string{".yaml", ".txtar"}, filepath.Ext(b.label)) && !isOfCluster(b.label)
}

// isOfCluster reports whether a block or a file is for Kubernetes. The tests of deploy read it.
func isOfCluster(label string) bool {
	return label == "values" || filepath.Base(filepath.Dir(label)) == "tutorial-kubernetes"
}

func TestFilesOfCasesAreRead(t *testing.T) {
	for _, b := range examples(t) {
		if b.kind != "yaml" || b.label == "workflow" || isOfCluster(b.label) {
			continue
		}
		if !isCases(b) {
			t.Errorf("%s:%d: ```yaml: expected the name of a file of cases, or workflow", b.page, b.line)
			continue
		}
		path := filepath.Join(t.TempDir(), filepath.Base(b.label))
		if err := os.WriteFile(path, []byte(b.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := cases.Load(path); err != nil {
			t.Errorf("%s:%d: %v", b.page, b.line, err)
		}
	}
	found, err := cases.Find([]string{"examples"})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		if isOfCluster(path) {
			continue
		}
		if _, err := cases.Load(path); err != nil {
			t.Error(err)
		}
	}
}

// An action is what GitHub reads of an action.yml.
type action struct {
	Inputs map[string]struct {
		Description string
		Default     string
	}
	Runs struct {
		Using string
		Steps []struct {
			Name, Uses, Run, Shell, If string
			Env                        map[string]string
		}
	}
}

const actionFolder = ".github/actions/junction-test"

func theAction(t *testing.T) action {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, actionFolder, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var a action
	if err := yaml.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestTheActionUsesFlagsThatExistAndPassesInputsByTheEnvironmentOnly(t *testing.T) {
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	a := theAction(t)
	if a.Runs.Using != "composite" {
		t.Errorf("using: %q", a.Runs.Using)
	}
	used := map[string]bool{}
	for _, s := range a.Runs.Steps {
		if strings.Contains(s.Run, "${{") {
			t.Errorf("%s: an input in a script is a way to run commands: %s", s.Name, s.Run)
		}
		for _, from := range append(slices.Collect(mapValues(s.Env)), s.If) {
			for _, input := range regexp.MustCompile(`inputs\.([a-z-]+)`).FindAllStringSubmatch(from, -1) {
				used[input[1]] = true
				if _, there := a.Inputs[input[1]]; !there {
					t.Errorf("%s: there is no input %q", s.Name, input[1])
				}
			}
		}
		for _, command := range []string{"test", "lint"} {
			if !strings.Contains(s.Run, "("+command+" ") && !strings.Contains(s.Run, "junction "+command+" ") {
				continue
			}
			help, err := exec.Command(filepath.Join(dir, "junction"), command, "--help").Output()
			if err != nil {
				t.Fatal(err)
			}
			flags := regexp.MustCompile(`--[a-z-]+`).FindAllString(s.Run, -1)
			if len(flags) == 0 {
				t.Errorf("%s: no flag can be read", s.Name)
			}
			for _, flag := range flags {
				if !strings.Contains(string(help), flag+" ") {
					t.Errorf("%s: junction %s has no flag %s", s.Name, command, flag)
				}
			}
		}
	}
	for name, input := range a.Inputs {
		if !used[name] || input.Description == "" {
			t.Errorf("the input %q is not used, or nothing describes it", name)
		}
	}
}

func mapValues(m map[string]string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

// What the scripts of the action do is what its inputs say.
func TestTheActionRunsCasesAndChecksTheServer(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	const passes = "server: nobody\ncases:\n- {case: a, tool: add, arguments: {a: 1, b: 2}, expect: {structured: {equals: {sum: 3}}}}\n"
	const config = `{"mcpServers": {"weather": {"command": "junction", "args": ["serve", "everything"]}}}`
	for name, text := range map[string]string{"a b/a.yaml": passes, "c.yaml": passes, "mcp.json": config} {
		if err := os.MkdirAll(filepath.Join(home, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inputs := map[string]string{"path": "a b\nc.yaml\n", "config": "mcp.json", "server": "weather", "revisions": "2026-07-28,2025-06-18", "transports": "all", "lint": "weather"}
	a := theAction(t)
	var said strings.Builder
	for _, s := range a.Runs.Steps {
		if s.Name == "Install Junction" { // deploy/release tests it with the files of a release
			continue
		}
		command := exec.Command(bash, "-e", "-o", "pipefail", "-c", s.Run)
		command.Dir = home
		command.Env = []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home}
		for name, value := range s.Env {
			input := strings.TrimSuffix(strings.TrimPrefix(value, "${{ inputs."), " }}")
			given, is := inputs[input]
			if !is {
				given = a.Inputs[input].Default
			}
			command.Env = append(command.Env, name+"="+given)
		}
		out, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", s.Name, err, out)
		}
		said.Write(out)
	}
	for _, want := range []string{"10 cases passed, 0 failed, 2 skipped", "0 errors, "} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("there is no %q in\n%s", want, said.String())
		}
	}
	if _, err := os.Stat(filepath.Join(home, "junction-test.xml")); err != nil {
		t.Error(err)
	}
}

func TestWorkflowsUseInputsThatTheActionHas(t *testing.T) {
	inputs := theAction(t).Inputs
	found := 0
	for _, b := range examples(t) {
		if b.kind != "yaml" || b.label != "workflow" {
			continue
		}
		var workflow struct {
			Jobs map[string]struct {
				Steps []struct {
					Uses string
					With map[string]string
				}
			}
		}
		if err := yaml.Unmarshal([]byte(b.text), &workflow); err != nil {
			t.Fatalf("%s:%d: %v", b.page, b.line, err)
		}
		for _, job := range workflow.Jobs {
			for _, s := range job.Steps {
				if !strings.HasPrefix(s.Uses, "junction-mcp/junction/"+actionFolder+"@") {
					continue
				}
				found++
				for name := range s.With {
					if _, there := inputs[name]; !there {
						t.Errorf("%s:%d: the action has no input %q", b.page, b.line, name)
					}
				}
			}
		}
	}
	if found == 0 {
		t.Error("no workflow uses the action")
	}
}
