# sources of sim/step
