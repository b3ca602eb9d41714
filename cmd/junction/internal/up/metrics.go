package up

import (
	"errors"
	"runtime"
	"runtime/debug"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// count registers the metrics of the process.
func (v *Served) count(registry prometheus.Registerer) error {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "junction_build_info", Help: "1, with the version of the program.",
		ConstLabels: prometheus.Labels{"version": cli.Version, "revision": revisionOfBuild(), "goversion": runtime.Version()}})
	build.Set(1)
	all := []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build,
		gauge("junction_config_reload_success", "1 if the configuration could be used when it was last read, otherwise 0.", func() float64 {
			if c := v.condition.Load(); c != nil && c.err != nil {
				return 0
			}
			return 1
		}),
		gauge("junction_config_reload_timestamp_seconds", "When a configuration that could be used was last read, in Unix seconds.", func() float64 {
			return float64(v.readAt.Load()) / 1e9
		}),
		gauge("junction_sessions", "Sessions of legacy clients over HTTP that this process holds.", func() float64 { return float64(v.held().Sessions) }),
		gauge("junction_streams", "Open streams for notifications over HTTP.", func() float64 { return float64(v.held().Streams) }),
		gauge("junction_parked_calls", "Calls that wait for the next round of their clients, and that only this replica can continue.", func() float64 { return float64(v.held().Parked) }),
		gauge("junction_tasks", "Tasks that run in this process.", func() float64 {
			if t := v.Gateway.Layers().Tasks; t != nil {
				return float64(t.Running())
			}
			return 0
		}),
		&states{v.Gateway.Members(), prometheus.NewDesc("junction_servers", "Servers by state.", []string{"server", "state"}, nil)},
	}
	if shared := v.Options.shared; shared != nil {
		all = append(all, gauge("junction_peers", "Other replicas that this one knows.", func() float64 { return float64(len(shared.peers.Origins())) }))
	}
	errs := []error{v.access.count(registry), v.countCertificate(registry), v.countShared(registry)}
	for _, c := range all {
		errs = append(errs, registry.Register(c))
	}
	return errors.Join(errs...)
}

// held returns what clients hold at all endpoints.
func (v *Served) held() (all streamable.Usage) {
	d := v.doors.Load()
	if d == nil { // on standard input and output, or before it serves
		return all
	}
	for _, e := range d.endpoints() {
		if one, is := e.(interface{ Usage() streamable.Usage }); is {
			u := one.Usage()
			all.Sessions, all.Streams, all.Parked = all.Sessions+u.Sessions, all.Streams+u.Streams, all.Parked+u.Parked
		}
	}
	return all
}

// revisionOfBuild returns the revision of the sources, or "".
func revisionOfBuild() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
