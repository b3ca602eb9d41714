package deploy

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/config/settings"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	disruption "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the files that are made from the chart")

// kinds has the types of all objects that the chart may make.
var kinds = map[string]any{
	"apps/v1 Deployment": apps.Deployment{}, "apps/v1 StatefulSet": apps.StatefulSet{}, "batch/v1 Job": batch.Job{}, "v1 Service": core.Service{}, "v1 ServiceAccount": core.ServiceAccount{}, "v1 ConfigMap": core.ConfigMap{},
	"autoscaling/v2 HorizontalPodAutoscaler": autoscaling.HorizontalPodAutoscaler{}, "policy/v1 PodDisruptionBudget": disruption.PodDisruptionBudget{},
	"networking.k8s.io/v1 NetworkPolicy": networking.NetworkPolicy{}, "networking.k8s.io/v1 Ingress": networking.Ingress{},
	"monitoring.coreos.com/v1 ServiceMonitor": map[string]any{},
}

// An object is one object of a manifest.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	text []byte
}

// render renders the chart with values, and reads each object strictly.
func render(t *testing.T, values string) map[string]object {
	t.Helper()
	manifest, err := template(values)
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, manifest)
}

func template(values string) (string, error) {
	c, err := loader.Load("chart")
	if err != nil {
		return "", err
	}
	given, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		return "", err
	}
	all, err := chartutil.ToRenderValues(c, given, chartutil.ReleaseOptions{Name: "junction", Namespace: "default", IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		return "", err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return "", err
	}
	var manifest strings.Builder
	for _, name := range []string{"configmap", "deployment", "network", "scaling", "servers", "services"} {
		manifest.WriteString("---\n" + files["junction/templates/"+name+".yaml"] + "\n")
	}
	return manifest.String(), nil
}

// objects reads a manifest.
func objects(t *testing.T, manifest string) map[string]object {
	t.Helper()
	all := map[string]object{}
	for text := range strings.SplitSeq(manifest, "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		if o.Kind == "" {
			continue
		}
		kind, known := kinds[o.APIVersion+" "+o.Kind]
		if !known {
			t.Fatalf("no type for %s %s", o.APIVersion, o.Kind)
		}
		if err := yaml.UnmarshalStrict([]byte(text), reflect.New(reflect.TypeOf(kind)).Interface()); err != nil {
			t.Errorf("%s %s: %v", o.Kind, o.Metadata.Name, err)
		}
		o.text = []byte(text)
		all[o.Kind+" "+o.Metadata.Name] = o
	}
	return all
}

const everything = `
config: {mcpServers: {weather: {url: "http://127.0.0.1:8080/mcp"}}, junction: {tools: search}}
sidecars: [{name: weather, image: "example/weather:1"}]
servers:
  notes: {image: "example/notes:1", port: 8081, user: 1000, entry: {startTimeout: 30s}, env: [{name: A, value: b}]}
  tools: {image: "example/tools:1", command: [node, server.js], args: [--all], replicas: 2, isolation: user, instances: 5, user: 1000, key: tools-key, program: {cwd: /app}, entry: {headers: {X-A: b}, timeout: 1m}, env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: a, key: b}}}], resources: {limits: {memory: 1Gi}}}
  kept: {image: "example/kept:1", command: [python3, kept.py], storage: {path: /data, size: 1Gi, class: fast}}
auth: {mode: "keys,https://login.example.com", publicURL: "https://tools.example.com"}
ingress: {enabled: true, host: tools.example.com, tlsSecret: tools-tls, className: nginx}
hosts: [tools.internal]
trustedProxies: [10.0.0.0/8]
secrets: [provider]
autoscaling: {enabled: true, running: 20}
networkPolicy: {from: [{namespaceSelector: {matchLabels: {team: a}}}], metricsFrom: [{podSelector: {}}], egress: [{}]}
metrics: {serviceMonitor: {enabled: true, labels: {release: monitoring}}}
podLabels: {team: tools}
`

func TestChartMakesObjectsThatKubernetesKnows(t *testing.T) {
	for name, values := range map[string]string{"defaults": "", "everything": everything, "local": "{replicas: 1, auth: {mode: local}}", "tls": "{replicas: 1, tls: {secret: own}, metrics: {tokenSecret: admin, serviceMonitor: {enabled: true}}}"} {
		all := render(t, values)
		var d apps.Deployment
		if err := yaml.Unmarshal(all["Deployment junction"].text, &d); err != nil {
			t.Fatal(err)
		}
		pod := d.Spec.Template.Spec
		c := pod.Containers[0]
		if s := c.SecurityContext; !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || len(s.Capabilities.Drop) != 1 || !*pod.SecurityContext.RunAsNonRoot {
			t.Errorf("%s: the container is not confined: %+v", name, s)
		}
		mounts := map[string]bool{}
		for _, v := range pod.Volumes {
			mounts[v.Name] = true
		}
		for _, m := range c.VolumeMounts {
			if !mounts[m.Name] {
				t.Errorf("%s: there is no volume %s", name, m.Name)
			}
		}
		if *pod.TerminationGracePeriodSeconds <= 130 {
			t.Errorf("%s: the pod is killed before its calls have ended", name)
		}
		for _, kind := range []string{"Service junction", "Service junction-peers", "PodDisruptionBudget junction", "NetworkPolicy junction", "ConfigMap junction", "ServiceAccount junction"} {
			if all[kind].Kind == "" {
				t.Errorf("%s: there is no %s", name, kind)
			}
		}
	}
	all := render(t, everything)
	var m core.ConfigMap
	if err := yaml.Unmarshal(all["ConfigMap junction"].text, &m); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"url": "http://junction-notes:8081/mcp"`, `"startTimeout": "30s"`, `"tools": "search"`, `"dns+http://junction-peers.default.svc:7717"`, `"${file:/run/secrets/junction/junction-state/state-key}"`, `"url": "http://127.0.0.1:8080/mcp"`} {
		if !strings.Contains(m.Data["mcp.json"], want) {
			t.Errorf("the configuration lacks %s:\n%s", want, m.Data["mcp.json"])
		}
	}
	for _, kind := range []string{"HorizontalPodAutoscaler junction", "Ingress junction", "ServiceMonitor junction", "Deployment junction-notes", "Service junction-notes", "NetworkPolicy junction-notes",
		"Deployment junction-tools", "ConfigMap junction-tools", "Service junction-tools", "Service junction-tools-peers", "NetworkPolicy junction-tools", "StatefulSet junction-kept", "Service junction-kept-peers"} {
		if all[kind].Kind == "" {
			t.Errorf("there is no %s", kind)
		}
	}
}

// TestPodsOfPrograms compares the configuration in the pod of a program, and its entry in the gateway, with what they have to be.
func TestPodsOfPrograms(t *testing.T) {
	all := render(t, everything)
	configuration := func(name string) (c struct {
		Servers  map[string]map[string]any `json:"mcpServers"`
		Junction json.RawMessage
	}) {
		var m core.ConfigMap
		if err := yaml.Unmarshal(all["ConfigMap "+name].text, &m); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(m.Data["mcp.json"]), &c); err != nil {
			t.Fatal(err)
		}
		if _, err := settings.Parse(c.Junction); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return c
	}
	for at, want := range map[string]map[string]any{
		"junction-tools": {"command": "node", "args": []any{"server.js", "--all"}, "environment": "all", "cwd": "/app"},
		"junction": {"url": "http://junction-tools:7717/mcp", "timeout": "1m", "userHeader": "Junction-User",
			"headers": map[string]any{"Authorization": "Bearer ${file:/run/secrets/junction/tools-key/key}", "X-A": "b"}},
	} {
		if got := configuration(at).Servers["tools"]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	}
	s, err := settings.Parse(configuration("junction-tools").Junction)
	if err != nil {
		t.Fatal(err)
	}
	if own := s.Servers["tools"]; own.Isolation != "user" || own.Instances != 5 || s.Authorization.UserHeader != "Junction-User" || s.Tasks != "none" || len(s.StateKeys) != 1 || len(s.Peers) != 1 || !reflect.DeepEqual(s.Auth, []string{"keys"}) {
		t.Errorf("the settings of the pod: %+v", s)
	}
	var d apps.Deployment
	var gateway apps.Deployment
	var kept apps.StatefulSet
	for name, of := range map[string]any{"Deployment junction-tools": &d, "Deployment junction": &gateway, "StatefulSet junction-kept": &kept} {
		if err := yaml.Unmarshal(all[name].text, of); err != nil {
			t.Fatal(err)
		}
	}
	for _, pod := range []core.PodSpec{d.Spec.Template.Spec, kept.Spec.Template.Spec} {
		for _, c := range append(pod.InitContainers, pod.Containers...) {
			if s := c.SecurityContext; !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || len(s.Capabilities.Drop) != 1 || !*pod.SecurityContext.RunAsNonRoot || *pod.SecurityContext.RunAsUser == 0 {
				t.Errorf("%s of %s is not confined: %+v", c.Name, c.Image, s)
			}
		}
		if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
			t.Error("a program gets the token of a service account")
		}
		for _, v := range pod.Volumes {
			if v.Secret != nil && (len(v.Secret.Items) != 2 || v.Secret.Items[0].Key != "keys.json" || v.Secret.Items[1].Key != "state-key") {
				t.Errorf("the pod gets %+v", v.Secret)
			}
		}
	}
	for _, v := range gateway.Spec.Template.Spec.Volumes {
		if v.Name == "server-tools-key" && (len(v.Secret.Items) != 1 || v.Secret.Items[0].Key != "key") {
			t.Errorf("the gateway gets %+v", v.Secret)
		}
	}
}

func TestChartRefusesWrongValues(t *testing.T) {
	for values, want := range map[string]string{
		"replica: 2":             "replica",
		"replicas: many":         "integer",
		"auth: {mode: password}": "auth.mode",
		"servers: {Big_Name: {image: a, port: 1}}":                                      "Big_Name",
		"servers: {a: {image: a}}":                                                      "oneOf",
		"servers: {a: {image: a, port: 1, command: [b]}}":                               "oneOf",
		"servers: {a: {image: a, port: 1, isolation: user}}":                            "command",
		"servers: {a: {image: a, command: [b], isolation: client}}":                     "isolation",
		"{servers: {a: {image: a, command: [b], isolation: user}}, auth: {mode: none}}": "isolation needs users",
		"drain: {delay: soon}":                                                          "drain.delay",
		"tls: {secret: own}":                                                            "do not find each other",
		"auth: {mode: none, publicURL: tools.example}":                                  "publicURL",
		"auth: {mode: \"keys,local\"}":                                                  "need a store",
		"{auth: {mode: local}, replicas: 1, autoscaling: {enabled: true}}":              "need a store",
	} {
		if _, err := template(values); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "/", "."), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}

// compareFile compares a manifest without what Helm adds with a file, or writes it with -update.
func compareFile(t *testing.T, path, manifest string) {
	t.Helper()
	var kept bytes.Buffer
	kept.WriteString("# Made from the chart: go test -run Kustomize -update\n")
	for line := range strings.Lines(manifest) {
		if !strings.Contains(line, "helm.sh/chart:") && !strings.Contains(line, "managed-by:") && strings.TrimSpace(line) != "" {
			kept.WriteString(line)
		}
	}
	if *update {
		if err := os.WriteFile(path, kept.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, kept.Bytes()) {
		t.Errorf("%s differs from the chart (%v): go test -run Kustomize -update", path, err)
	}
}

// TestKustomize compares the base with the chart, and builds base and example.
func TestKustomize(t *testing.T) {
	manifest, err := template("")
	if err != nil {
		t.Fatal(err)
	}
	compareFile(t, filepath.Join("kustomize", "base", "junction.yaml"), manifest)
	// The example with a program has the same objects as the chart, and the same configuration.
	with, err := template("servers: {notes: {image: \"node:22\", command: [npx, -y, some-notes], env: [{name: HOME, value: /tmp}], isolation: user}}")
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for text := range strings.SplitSeq(with, "\n---\n") {
		if strings.Contains(text, "\n  name: junction-notes") {
			own = append(own, text)
		}
	}
	compareFile(t, filepath.Join("kustomize", "programs", "notes.yaml"), strings.Join(own, "\n---\n"))
	var m core.ConfigMap
	if err := yaml.Unmarshal(objects(t, with)["ConfigMap junction"].text, &m); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("kustomize", "programs", "mcp.json")
	if *update {
		if err := os.WriteFile(path, []byte(m.Data["mcp.json"]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != m.Data["mcp.json"] {
		t.Errorf("%s differs from the chart (%v): go test -run Kustomize -update", path, err)
	}
	for _, folder := range []string{"base", "example", "programs"} {
		built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join("kustomize", folder))
		if err != nil {
			t.Fatal(err)
		}
		text, err := built.AsYaml()
		if err != nil {
			t.Fatal(err)
		}
		all := objects(t, string(text))
		if all["Deployment junction"].Kind == "" {
			t.Errorf("%s: %s", folder, text)
		}
		if folder == "programs" {
			var made, want apps.Deployment
			if err := errors.Join(yaml.Unmarshal(all["Deployment junction"].text, &made), yaml.Unmarshal(objects(t, with)["Deployment junction"].text, &want)); err != nil {
				t.Fatal(err)
			}
			for _, d := range []*apps.Deployment{&made, &want} {
				spec := &d.Spec.Template.Spec
				slices.SortFunc(spec.Volumes, func(a, b core.Volume) int { return strings.Compare(a.Name, b.Name) })
				slices.SortFunc(spec.Containers[0].VolumeMounts, func(a, b core.VolumeMount) int { return strings.Compare(a.Name, b.Name) })
			}
			if !reflect.DeepEqual(made.Spec.Template.Spec, want.Spec.Template.Spec) {
				t.Errorf("the gateway of %s differs from that of the chart:\n%s", folder, text)
			}
		}
	}
}

// TestValuesOfPagesRender renders the chart with the values of the guides, and reads the configurations that it makes.
func TestValuesOfPagesRender(t *testing.T) {
	tutorial, _ := guides[1].firstValues(t)
	blocks := append(guides[0].blocks(t, "yaml values"), tutorial)
	servers := []int{3, 0, 1} // in the configuration of each
	if len(blocks) != len(servers) {
		t.Fatalf("%d values", len(blocks))
	}
	for i, values := range blocks {
		var m core.ConfigMap
		if err := yaml.Unmarshal(render(t, values)["ConfigMap junction"].text, &m); err != nil {
			t.Fatal(err)
		}
		var config struct {
			Servers  map[string]any  `json:"mcpServers"`
			Junction json.RawMessage `json:"junction"`
		}
		if err := json.Unmarshal([]byte(m.Data["mcp.json"]), &config); err != nil {
			t.Fatal(err)
		}
		if _, err := settings.Parse(config.Junction); err != nil || len(config.Servers) != servers[i] {
			t.Errorf("%v: %s", err, m.Data["mcp.json"])
		}
	}
}
