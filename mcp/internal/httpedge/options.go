package httpedge

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// The defaults of the options that all handlers have.
const (
	defaultKeepAlive    = 25 * time.Second
	defaultReadTimeout  = 30 * time.Second
	DefaultWriteTimeout = 10 * time.Second
)

// SetDefaults sets the default values of the options that all handlers have.
func SetDefaults(o *mcp.ServeOptions, keepAlive, readTimeout, writeTimeout *time.Duration) {
	OrDefault(&o.MaxMessage, mcp.DefaultMaxMessage)
	OrDefault(&o.DrainTimeout, mcp.DefaultDrainTimeout)
	OrDefault(readTimeout, defaultReadTimeout)
	OrDefault(writeTimeout, DefaultWriteTimeout)
	if *keepAlive == 0 { // a negative value means never
		*keepAlive = defaultKeepAlive
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
}

// OrDefault sets an option to its default value unless it is positive.
func OrDefault[T int | time.Duration](value *T, otherwise T) {
	if *value <= 0 {
		*value = otherwise
	}
}
