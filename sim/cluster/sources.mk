# sources of sim/cluster
