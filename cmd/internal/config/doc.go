// Package config reads Corral's configuration file, a TOML file whose every key has a type and a default. A key that is
// not known is an error that names the nearest known one, because a misspelt key that is silently ignored is found out
// when it is too late. The package starts no goroutine and reads nothing but the file it is told.
package config
