package chat_test

import (
	"os"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

func TestMain(m *testing.M) { os.Exit(clitest.RunTests(m)) }
