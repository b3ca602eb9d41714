// Package live is the screen of junction up and junction traffic. The screen is a stack of views
// and shows the last one. It gets its content from a [Gateway], which may be nil, and from events.
// All texts are cleaned before they are drawn. The screen is drawn only when something changes.
package live
