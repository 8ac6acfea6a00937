// Command corral keeps terminal sessions alive and shows them in one dashboard.
package main

func main() {}
