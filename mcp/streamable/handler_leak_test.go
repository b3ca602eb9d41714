package streamable

import (
	"testing"

	"github.com/junction-mcp/junction/mcp/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
