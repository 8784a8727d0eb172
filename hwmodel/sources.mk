# sources of hwmodel
