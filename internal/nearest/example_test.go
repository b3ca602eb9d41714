package nearest_test

import (
	"fmt"

	"github.com/junction-mcp/junction/internal/nearest"
)

func ExampleName() {
	fmt.Println(nearest.Name("massage", []string{"city", "message"}))
	// Output: message
}
