package deploy

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// A guide is a page with commands for Kubernetes.
type guide struct {
	page     string
	values   string // the file of the first values, from the root; empty if they are a block of the page
	commands int    // at least so many are followed
}

var guides = []guide{
	{"deploying.md", "", 15},
	{"tutorial-kubernetes.md", "docs/examples/tutorial-kubernetes/values.yaml", 15},
}

// A follower follows the commands of a guide, in their order, without a cluster: it makes the objects that
// they would make, and finds those that they name.
type follower struct {
	t          *testing.T
	values     string                     // the file of the values
	namespace  string                     // of the release
	objects    map[string]object          // of the release and of applied files; by kind and name, as kubectl takes them
	secrets    map[string]map[string]bool // keys of the Secrets that were made, by name
	namespaces map[string]bool
	written    map[string]bool // files that commands of the page wrote
}

// text returns the text of the page.
func (g guide) text(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "docs", g.page))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// blocks returns the blocks of the page with a label of their fence.
func (g guide) blocks(t *testing.T, label string) (blocks []string) {
	t.Helper()
	for _, found := range regexp.MustCompile("(?s)```"+label+"\n(.*?)```").FindAllStringSubmatch(g.text(t), -1) {
		blocks = append(blocks, found[1])
	}
	return blocks
}

// proseCommands returns the commands of kubectl in the sentences of the page, a line each.
func (g guide) proseCommands(t *testing.T) string {
	t.Helper()
	var lines strings.Builder
	for _, found := range regexp.MustCompile("[^`]`(kubectl [^`]+)`").FindAllStringSubmatch(g.text(t), -1) {
		lines.WriteString(strings.Join(strings.Fields(found[1]), " ") + "\n")
	}
	return lines.String()
}

// firstValues returns the values with which the guide installs the chart, and the name of their file.
func (g guide) firstValues(t *testing.T) (text, file string) {
	t.Helper()
	if g.values == "" {
		return g.blocks(t, "yaml values")[0], "values.yaml"
	}
	values, err := os.ReadFile(filepath.Join("..", g.values))
	if err != nil {
		t.Fatal(err)
	}
	return string(values), g.values
}

// TestCommandsOfPagesFitTheChart follows the guides. A real cluster has to take the same commands; here they must name what the chart
// makes with the values of the page, and make all that its pods need.
func TestCommandsOfPagesFitTheChart(t *testing.T) {
	for _, g := range guides {
		t.Run(g.page, func(t *testing.T) { g.follow(t) })
	}
}

func (g guide) follow(t *testing.T) {
	values, file := g.firstValues(t)
	f := &follower{t: t, values: file, namespace: "default", objects: map[string]object{}, secrets: map[string]map[string]bool{}, namespaces: map[string]bool{"monitoring": true}, written: map[string]bool{}}
	for name, o := range render(t, values) {
		kind, rest, _ := strings.Cut(name, " ")
		f.objects[strings.ToLower(kind)+"/"+rest] = o
	}
	followed, installed := 0, false
	for _, block := range append(g.blocks(t, "sh"), g.proseCommands(t)) {
		for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", "")) {
			line = strings.TrimSuffix(strings.TrimSpace(line), " &")
			words := strings.Fields(line)
			switch {
			case strings.HasPrefix(line, "helm "):
				f.helm(words)
				installed = true
				f.checkSecrets()
			case strings.HasPrefix(line, "kubectl "):
				f.kubectl(words)
				if _, to, found := strings.Cut(line, " > "); found {
					f.written[to] = true
				}
			case strings.Contains(line, " > "): // a file that a later command reads
				f.written[words[len(words)-1]] = true
				if folder, found := strings.CutPrefix(words[0], "JUNCTION_STATE=$PWD/"); found && strings.Contains(line, "key create") {
					f.written[folder+"/keys.json"] = true
				}
				continue
			default:
				continue
			}
			followed++
		}
	}
	if !installed || followed < g.commands {
		t.Errorf("only %d commands were followed", followed)
	}
	f.checkSecrets() // of files that were applied after the chart, too
}

// flags splits words into arguments and flags. A flag of few takes no value.
func (f *follower) flags(words []string, few ...string) (arguments []string, flags map[string][]string) {
	flags = map[string][]string{}
	for i := 0; i < len(words); i++ {
		name, isFlag := strings.CutPrefix(words[i], "-")
		if name, value, has := strings.Cut(strings.TrimPrefix(name, "-"), "="); isFlag && has {
			flags[name] = append(flags[name], value)
		} else if isFlag && (slices.Contains(few, name) || i+1 == len(words)) {
			flags[name] = append(flags[name], "")
		} else if i++; isFlag {
			flags[name] = append(flags[name], words[i])
		} else {
			i--
			arguments = append(arguments, words[i])
		}
	}
	return arguments, flags
}

// helm follows an installation.
func (f *follower) helm(words []string) {
	arguments, flags := f.flags(words[1:], "install", "wait")
	if want := []string{"upgrade", "junction", "deploy/chart"}; !slices.Equal(arguments, want) {
		f.t.Errorf("%q: expected the words %q", words, want)
	}
	want := []string{"install", "namespace", "values", "wait"}
	if len(flags["set"]) > 0 { // of an upgrade
		want = []string{"namespace", "set", "values", "wait"}
		f.set(words, flags["set"])
	}
	if !slices.Equal(slices.Sorted(maps.Keys(flags)), want) || flags["values"][0] != f.values {
		f.t.Errorf("%q has the flags %v", words, flags)
	}
	if f.namespace = flags["namespace"][0]; !f.namespaces[f.namespace] {
		f.t.Errorf("%q: no command made the namespace", words)
	}
}

// set sees that the chart has the values that a command sets.
func (f *follower) set(words, settings []string) {
	c, err := loader.Load("chart")
	if err != nil {
		f.t.Fatal(err)
	}
	for _, setting := range settings {
		path, _, _ := strings.Cut(setting, "=")
		if _, err := chartutil.Values(c.Values).PathValue(path); err != nil {
			f.t.Errorf("%q: %v", words, err)
		}
	}
}

// apply adds the objects of a file to those of the release.
func (f *follower) apply(words []string, path string) {
	text, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		f.t.Errorf("%q: %v", words, err)
		return
	}
	for name, o := range objects(f.t, string(text)) {
		kind, rest, _ := strings.Cut(name, " ")
		f.objects[strings.ToLower(kind)+"/"+rest] = o
	}
}

// kubectl follows a command of kubectl. It fails for words that it does not know.
func (f *follower) kubectl(words []string) {
	t := f.t
	command, inPod, _ := strings.Cut(strings.Join(words[1:], " "), " -- ")
	arguments, flags := f.flags(strings.Fields(command))
	if n := flags["n"]; len(n) > 0 && !f.namespaces[n[0]] {
		t.Errorf("%q: no command made the namespace", words)
	}
	has := func(name string) object {
		o := f.objects[name]
		if o.Kind == "" {
			t.Errorf("%q: the chart makes no %s", words, name)
		}
		return o
	}
	switch verb := strings.Join(arguments[:min(2, len(arguments))], " "); {
	case verb == "delete namespace" || arguments[0] == "logs":
	case verb == "create namespace":
		f.namespaces[arguments[2]] = true
	case verb == "create secret" || verb == "create configmap":
		f.create(words, arguments, flags)
	case verb == "get pods" || verb == "get ingress":
	case arguments[0] == "apply":
		f.apply(words, flags["f"][0])
	case arguments[0] == "wait":
		has(arguments[1])
	case arguments[0] == "port-forward":
		port, _, _ := strings.Cut(arguments[2], ":")
		if !slices.Contains(portsOf(t, has(arguments[1])), port) {
			t.Errorf("%q: it has no port %s", words, port)
		}
	case verb == "rollout restart" || verb == "rollout status":
		has(arguments[2])
	case arguments[0] == "exec":
		var d apps.Deployment
		if err := yaml.Unmarshal(has(arguments[1]).text, &d); err != nil || !strings.HasPrefix(inPod, "/junction ") {
			t.Errorf("%q does not run the only program of the image (%v)", words, err)
		}
	case verb == "set image":
		container, _, _ := strings.Cut(arguments[3], "=")
		var d apps.Deployment
		if err := yaml.Unmarshal(has(arguments[2]).text, &d); err != nil || !slices.ContainsFunc(d.Spec.Template.Spec.Containers, func(c core.Container) bool { return c.Name == container }) {
			t.Errorf("%q: there is no container %s (%v)", words, container, err)
		}
	default:
		t.Errorf("%q: the test cannot follow it", words)
	}
}

// portsOf returns the ports of a service, or of the pods of a deployment.
func portsOf(t *testing.T, o object) (ports []string) {
	t.Helper()
	var s core.Service
	var d apps.Deployment
	of := map[string]any{"Service": &s, "Deployment": &d}[o.Kind]
	if err := yaml.Unmarshal(o.text, of); err != nil {
		t.Error(err)
	}
	for _, p := range s.Spec.Ports {
		ports = append(ports, fmt.Sprint(p.Port))
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, p := range c.Ports {
			ports = append(ports, fmt.Sprint(p.ContainerPort))
		}
	}
	return ports
}

// create follows the creation of a Secret or a ConfigMap from files and texts.
func (f *follower) create(words, arguments []string, flags map[string][]string) {
	keys := map[string]bool{}
	for _, from := range append(flags["from-file"], flags["from-literal"]...) {
		key, path, named := strings.Cut(from, "=")
		if !named {
			key, path = filepath.Base(from), from
		}
		keys[key] = true
		if slices.Contains(flags["from-literal"], from) || strings.HasPrefix(path, "$HOME/.config/junction/") || f.written[path] {
			continue
		}
		if _, err := os.Stat(filepath.Join("..", path)); err != nil {
			f.t.Errorf("%q reads a file that neither the repository nor a command before has: %v", words, err)
		}
	}
	if arguments[1] == "configmap" {
		return
	}
	switch kind := arguments[2]; {
	case kind == "tls" && len(flags["cert"]) == 1 && len(flags["key"]) == 1:
		keys = map[string]bool{"tls.crt": true, "tls.key": true}
	case kind != "generic":
		f.t.Errorf("%q makes a Secret of an unknown type", words)
	}
	f.secrets[arguments[3]] = keys
}

// checkSecrets sees that the Secrets that the pods and the ingress need were made before, with the keys that they need.
func (f *follower) checkSecrets() {
	need := func(by, secret string, keys ...string) {
		made, is := f.secrets[secret]
		for _, key := range keys {
			is = is && made[key]
		}
		if !is {
			f.t.Errorf("%s needs the Secret %s with the keys %q, and the page makes %v", by, secret, keys, made)
		}
	}
	for name, o := range f.objects {
		if o.Kind == "ConfigMap" {
			for _, file := range regexp.MustCompile(`/run/secrets/junction/([^/}]+)/([^/}]+)}`).FindAllSubmatch(o.text, -1) {
				need(name, string(file[1]), string(file[2]))
			}
		}
		var w struct {
			Spec struct {
				TLS      []struct{ SecretName string }
				Template core.PodTemplateSpec
			}
		}
		if err := yaml.Unmarshal(o.text, &w); err != nil {
			continue // another kind
		}
		for _, one := range w.Spec.TLS {
			need(name, one.SecretName, "tls.crt", "tls.key")
		}
		for _, c := range w.Spec.Template.Spec.Containers {
			for _, v := range c.Env {
				if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
					need(name, v.ValueFrom.SecretKeyRef.Name, v.ValueFrom.SecretKeyRef.Key)
				}
			}
		}
		for _, v := range w.Spec.Template.Spec.Volumes {
			if v.Secret == nil {
				continue
			}
			var keys []string
			for _, item := range v.Secret.Items {
				keys = append(keys, item.Key)
			}
			for _, c := range w.Spec.Template.Spec.Containers {
				for _, m := range c.VolumeMounts {
					if m.Name == v.Name && m.SubPath != "" {
						keys = append(keys, m.SubPath)
					}
				}
			}
			need(name, v.Secret.SecretName, keys...)
		}
	}
}
