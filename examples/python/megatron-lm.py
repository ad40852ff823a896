#!/usr/bin/env python3
"""Megatron-LM: as pretrain_gpt.py, with --dataloader-type external --dataloader-save FOLDER"""
from megatron.core.enums import ModelType
from megatron.training import pretrain
from my_model import forward_step, model_provider

from headrace.megatron import dataloader_provider

if __name__ == "__main__":
    # `batch size` in the text is --micro-batch-size; batches have tokens, labels, loss_mask, and what else is in them
    pretrain(dataloader_provider("train.hr", valid="valid.hr"), model_provider, ModelType.encoder_or_decoder, forward_step)
