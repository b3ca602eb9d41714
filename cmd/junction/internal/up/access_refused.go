package up

import (
	"github.com/prometheus/client_golang/prometheus"
)

// count adds how many there were to what is counted.
func (x *Access) count(registry prometheus.Registerer) error {
	if x == nil {
		return nil
	}
	return registry.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "junction_refused_logins_total", Help: "Requests with a key or token that let nobody in."}, func() float64 {
		x.Refused.Mu.Lock()
		defer x.Refused.Mu.Unlock()
		return float64(x.Refused.All)
	}))
}
