// Package docgen reads the doc comments of a Go package and writes them as
// methods that the mcp library finds by reflection. It is what the command
// mcpdoc runs.
//
// For a package with
//
//	// In asks for a forecast.
//	type In struct {
//		City string // in English
//	}
//
//	// Forecast tells the weather of the coming days.
//	func Forecast(ctx context.Context, in In) (Report, error)
//
// it generates
//
//	func (*In) MCPDocs() map[string]string {
//		return map[string]string{
//			"In":            "In asks for a forecast.",
//			"In.City":       "in English",
//			"func Forecast": "Tells the weather of the coming days.",
//		}
//	}
//
// The keys repeat the name of the type, because a method may be promoted to
// a struct that embeds the type. A function is filed under every struct type
// of the package among its parameters. The receiver is a pointer that the
// method never looks at, so that nil will do.
package docgen
