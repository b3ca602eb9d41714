// Package docgen reads the doc comments of a Go package, and writes them as methods that the mcp
// library finds by reflection. The command mcpdoc runs this package.
//
// For a package with these declarations
//
//	// In asks for a forecast.
//	type In struct {
//		City string // in English
//	}
//
//	// Forecast returns the weather of the coming days.
//	func Forecast(ctx context.Context, in In) (Report, error)
//
// it generates
//
//	func (*In) MCPDocs() map[string]string {
//		return map[string]string{
//			"In":            "In asks for a forecast.",
//			"In.City":       "in English",
//			"func Forecast": "Returns the weather of the coming days.",
//		}
//	}
//
// The keys repeat the name of the type, because a struct that embeds the type may promote the
// method. A function is listed under each struct type of the package among its parameters. The
// method does not use its receiver, a pointer, which may therefore be nil.
package docgen
