echo training
