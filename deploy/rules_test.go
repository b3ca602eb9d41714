package deploy

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
)

func rules(t *testing.T) (recorded map[string]string, alerts map[string]rulefmt.Rule) {
	t.Helper()
	groups, errs := rulefmt.ParseFile("prometheus/rules.yaml", false, model.UTF8Validation)
	for _, err := range errs {
		t.Fatal(err)
	}
	recorded, alerts = map[string]string{}, map[string]rulefmt.Rule{}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				recorded[r.Record] = r.Expr
			} else {
				alerts[r.Alert] = r
			}
		}
	}
	return recorded, alerts
}

// fires has for each alert series of which it fires. By calm none does.
var fires = map[string]string{
	"JunctionDown":               `up{job="junction",instance="a"} 0x60`,
	"JunctionServerDown":         `junction_servers{job="junction",instance="a",server="s",state="failed"} 1x60`,
	"JunctionErrors":             "mcp_requests_total{job=\"junction\",server=\"s\",outcome=\"ok\"} 0+60x60\n\tmcp_requests_total{job=\"junction\",server=\"s\",outcome=\"error\"} 0+6x60",
	"JunctionSlow":               `mcp_client_operation_duration_seconds_bucket{job="junction",server="s",mcp_method_name="tools/call",le="30"} 0x60` + "\n\t" + `mcp_client_operation_duration_seconds_bucket{job="junction",server="s",mcp_method_name="tools/call",le="60"} 0+60x60` + "\n\t" + `mcp_client_operation_duration_seconds_bucket{job="junction",server="s",mcp_method_name="tools/call",le="+Inf"} 0+60x60`,
	"JunctionConfigRejected":     `junction_config_reload_success{job="junction",instance="a"} 0x60`,
	"JunctionAuditUnwritable":    `junction_audit_writable{job="junction",instance="a"} 0x60`,
	"JunctionStoreAway":          `junction_shared_state_up{job="junction",instance="a"} 0x60`,
	"JunctionCertificateExpires": `junction_certificate_expiry_seconds{job="junction",instance="a"} 86400x60`,
	"JunctionLoginsRefused":      `junction_refused_logins_total{job="junction",instance="a"} 0+120x60`,
	"JunctionLimited":            "mcp_requests_total{job=\"junction\",server=\"s\",outcome=\"ok\"} 0+60x60\n\tmcp_notes_total{job=\"junction\",note=\"limit\",effect=\"deny\"} 0+12x60",
	"JunctionPeersMissing":       "junction_peers{job=\"junction\",instance=\"a\"} 1x60\n\tjunction_peers{job=\"junction\",instance=\"b\"} 2x60\n\tjunction_peers{job=\"junction\",instance=\"c\"} 2x60",
}

const calm = `up{job="junction",instance="a"} 1x60
	junction_servers{job="junction",instance="a",server="s",state="connected"} 1x60
	junction_servers{job="junction",instance="a",server="i",state="idle"} 1x60
	mcp_requests_total{job="junction",server="s",outcome="ok"} 0+60x60
	mcp_requests_total{job="junction",server="s",outcome="error"} 0+1x60
	mcp_notes_total{job="junction",note="limit",effect="deny"} 0+1x60
	mcp_client_operation_duration_seconds_bucket{job="junction",server="s",mcp_method_name="tools/call",le="1"} 0+60x60
	mcp_client_operation_duration_seconds_bucket{job="junction",server="s",mcp_method_name="tools/call",le="+Inf"} 0+60x60
	junction_config_reload_success{job="junction",instance="a"} 1x60
	junction_audit_writable{job="junction",instance="a"} 1x60
	junction_shared_state_up{job="junction",instance="a"} 1x60
	junction_certificate_expiry_seconds{job="junction",instance="a"} 8640000x60
	junction_refused_logins_total{job="junction",instance="a"} 0+1x60
	junction_peers{job="junction",instance="a"} 2x60
	junction_peers{job="junction",instance="b"} 2x60
	junction_peers{job="junction",instance="c"} 2x60`

func TestAlertsFire(t *testing.T) {
	recorded, alerts := rules(t)
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, 100_000)
	for name, alert := range alerts {
		expr := alert.Expr
		for record, of := range recorded {
			expr = strings.ReplaceAll(expr, record, "("+of+")")
		}
		count := func(series string) int {
			storage := promqltest.LoadedStorage(t, "load 1m\n\t"+series)
			q, err := engine.NewInstantQuery(t.Context(), storage, nil, expr, time.Unix(0, 0).Add(50*time.Minute))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			defer q.Close()
			r := q.Exec(t.Context())
			if r.Err != nil {
				t.Fatalf("%s: %v", name, r.Err)
			}
			return len(r.Value.(promql.Vector))
		}
		if fires[name] == "" {
			t.Errorf("%s has no series of which it fires", name)
		} else if n := count(fires[name]); n != 1 {
			t.Errorf("%s fires %d times", name, n)
		}
		if n := count(calm); n != 0 {
			t.Errorf("%s fires without a reason", name)
		}
	}
	if len(fires) != len(alerts) {
		t.Errorf("%d alerts, and series for %d", len(alerts), len(fires))
	}
}

// names returns the metrics that an expression selects.
func names(t *testing.T, expr string) (all []string) {
	t.Helper()
	parsed, err := parser.ParseExpr(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		if v, is := n.(*parser.VectorSelector); is {
			all = append(all, v.Name)
		}
		return nil
	})
	return all
}

// dashboard returns the expressions of the dashboard.
func dashboard(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile("grafana/junction.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all = append(all, strings.NewReplacer("$__rate_interval", "5m", "$job", ".*", "$server", ".*").Replace(target.Expr))
		}
	}
	return all
}

func TestDashboardIsValid(t *testing.T) {
	for _, expr := range dashboard(t) {
		if len(names(t, expr)) == 0 {
			t.Errorf("%s selects nothing", expr)
		}
	}
}

// checkNames finds each metric of rules and dashboard in the text of /metrics.
func checkNames(t *testing.T, exposed string) {
	recorded, alerts := rules(t)
	all := dashboard(t)
	for _, expr := range recorded {
		all = append(all, expr)
	}
	for _, alert := range alerts {
		all = append(all, alert.Expr)
	}
	var missing []string
	for _, expr := range all {
		for _, name := range names(t, expr) {
			if _, is := recorded[name]; is || name == "up" || slices.Contains(missing, name) {
				continue
			}
			if !strings.Contains(exposed, "\n"+name+"{") && !strings.Contains(exposed, "\n"+name+" ") {
				missing = append(missing, name)
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("/metrics lacks %q", missing)
	}
}
