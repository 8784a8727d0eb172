# sources of sim/learn
