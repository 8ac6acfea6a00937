// Package attach owns the viewers of a node.
package attach
