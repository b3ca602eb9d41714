// Package live is the screen of junction up and junction traffic: a stack of views, of which the last one is shown. What it
// shows comes from a [Gateway], which can be nil, and from the events that it is given; all of it is cleaned before it is drawn.
// Nothing is drawn while nothing changes.
package live
